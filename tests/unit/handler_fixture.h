#ifndef TESTS_UNIT_HANDLER_FIXTURE_H
#define TESTS_UNIT_HANDLER_FIXTURE_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include "executors/executor.h"
#include "handlers/fanout.h"
#include "tests/fakes/scripted_client.h"

/* GET of /fanout, or another handler, on a real executor, over a scripted client. */

enum { POOL_THREADS = 8, DEADLINE_MS = 20000, CALL_TIMEOUT_MS = 10000 };

/* What a test sets up, and the answer it got. tear_down() clears them all. */
extern struct executor *executor;
extern struct http_client *client;
extern struct handler *handler;
extern struct response response;
extern json_t *body; /* of @response */

/** One request as a root task; the test's thread waits for it to be done. */
struct serving {
	struct task task;
	struct request request;
	struct cancel cancel;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done; /* lock */
};

/* The three parts, for tests that want one of them different. */
void script_by(const struct scripted_options *script);
struct batch_limits plain_limits(void);
struct fanout_options plain_options(void);
void handle_with(struct fanout_options options);
void run_on(const char *kind, unsigned threads, unsigned max_tasks);

/** What most tests of /fanout need: a pool, and @count replies that answer the calls in turn. */
void set_up(const struct scripted_reply *replies, size_t count);

int tear_down(void **state);

/** Ask, and wait for the answer. */
void get(const char *query);

void start_serving(struct serving *serving, const char *query);
void finish_serving(struct serving *serving);

void forget_answer(void);

/** A member of @body, which must be there. */
const json_t *member(const char *name);

void expect_json(const json_t *value, const char *text);
void expect_member(const char *name, const char *text);

/** The problem that every refusal is, strictly. @parameter is NULL if it has none. */
void expect_problem(int status, const char *parameter, const char *detail);

void expect_header(const char *name, const char *value);

#endif
