#ifndef TESTS_CONTRACT_CLIENT_FIXTURE_H
#define TESTS_CONTRACT_CLIENT_FIXTURE_H

#include "clients/http_client.h"
#include "clients/resolver.h"
#include "tests/contract/over_executor.h"
#include "tests/contract/raw_server.h"

/* A client on the executor under test, and a server for it to call. */
struct client_fixture {
	struct http_client *client;
	struct resolver *resolver; /* the client's */
	struct executor *executor;
	struct raw_server *server;
	unsigned fds_before; /* open in this process before all of these */
};

enum { CLIENT_TASKS = 250, CLIENT_MAX_REPLY_BYTES = 64 * 1024, CLIENT_CONNECT_TIMEOUT_MS = 2000 };

/** The name of the client under test, and run_over_executor() that takes it from the arguments: the
 * second, after the executor's. */
extern const char *client_under_test;
int run_over_client(int argc, char **argv, const struct CMUnitTest *cases, size_t count);

/** A client of that name with a resolver of its own, which looks names up on lanes_for_tests().
 * Returns what creating them does. */
int create_client(const struct resolver_options *options, struct resolver **resolver,
                  struct http_client **client);

/* For cmocka: the first with the replies that a raw_server is to give. The teardown fails the test
 * if a file descriptor is left open. */
int client_setup(void **state, const struct raw_reply *replies);
int client_teardown(void **state);

/** Open file descriptors of this process. */
unsigned count_fds(void);

/** "http://127.0.0.1:PORT" + @path, in a static buffer: one at a time. */
const char *url_of(const struct client_fixture *fixture, const char *path);

/** Make @call in a task, with @timeout_ms; returns its failure. */
enum http_failure call_in_task(const struct client_fixture *fixture, struct http_call *call,
                               int64_t timeout_ms);

/** GET @path with plenty of time. For the caller to finish. */
struct http_call get(const struct client_fixture *fixture, const char *path);

/** get() it, fail the test unless it ends with @failure, and finish it. */
void assert_get_fails(const struct client_fixture *fixture, const char *path,
                      enum http_failure failure);

/** The same for one that succeeds with @status and @reply. */
void assert_get_answers(const struct client_fixture *fixture, const char *path, int status,
                        const char *reply);

#endif
