#ifndef TESTS_INTEGRATION_FRONT_FIXTURE_H
#define TESTS_INTEGRATION_FRONT_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "server/fronts.h"

/* Real fronts on a free port, over an executor, with handlers of the test's. And what clients do.
 */
enum { PATIENCE_MS = 20000, REPLY_BYTES = 4096 };

struct fronts_under_test {
	struct executor_set executors; /* one */
	struct rejections rejections;
	struct site site;
	struct fronts fronts;
	uint16_t port;
};

/** Serve the @count @handlers, which are borrowed, on @executor, which is consumed. */
void fronts_under_test_start(struct fronts_under_test *test, struct executor *executor,
                             struct handler *handlers, size_t count, int64_t deadline_ms);

/** Wait until nothing is left to serve. */
void fronts_under_test_await_drained(struct fronts_under_test *test);

/** End all. Handlers must be about to return. */
void fronts_under_test_stop(struct fronts_under_test *test);

/** A connection, which waits PATIENCE_MS at most for what it reads. */
int connected_to(const struct fronts_under_test *test);

void send_text(int fd, const char *text);

/** Send a GET of HTTP/1.1. */
void send_get(int fd, const char *path);

/** Read until what has come ends with @end, a NUL behind it. */
void read_until(int fd, const char *end, char reply[REPLY_BYTES]);

/** Wait, at most PATIENCE_MS, for the end of the connection and return what was read, to be freed,
 * with a NUL behind it. *@error is how it ended: 0, or ECONNRESET. */
char *read_to_end(int fd, size_t *length, int *error);

#endif
