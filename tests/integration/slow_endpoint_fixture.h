#ifndef TESTS_INTEGRATION_SLOW_ENDPOINT_FIXTURE_H
#define TESTS_INTEGRATION_SLOW_ENDPOINT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "server/slow_endpoint.h"

/*
 * A slow endpoint of each test's own, and clients of it. All but the counters
 * fail the test when something does not happen within PATIENCE_MS.
 */
enum { PATIENCE_MS = 20000, REPLY_BYTES = 8192 };

extern struct slow_endpoint *endpoint;

/* Set-up and tear-down of a test. */
int start_slow_endpoint(void **state);
int stop_slow_endpoint(void **state);

/** A connected socket; or one that is only opened, and connected later. */
int client_connect(void);
int client_open(void);
void client_connect_opened(int fd);

void client_send(int fd, const char *text);
void client_get(int fd, const char *target);

/** Read until what came, which goes to @reply, ends with @end. */
void client_read_until(int fd, const char *end, char reply[REPLY_BYTES]);

/** Read until the endpoint ends the connection. Returns the bytes read; -errno after an error. */
ssize_t client_read_to_end(int fd, char reply[REPLY_BYTES]);

/** Read one reply, its body by Content-Length. Returns the length of the body. */
size_t client_read_reply(int fd, char head[REPLY_BYTES]);

void assert_starts_with(const char *text, const char *start);

/** Ask GET /stats until in_flight is @count. Returns whether that happened. */
bool in_flight_becomes(const char *count);

struct slow_endpoint_stats stats(void);

#endif
