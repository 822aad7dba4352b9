#ifndef TESTS_CONTRACT_OVER_EXECUTOR_H
#define TESTS_CONTRACT_OVER_EXECUTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "executors/executor.h"
#include "executors/offload.h"
#include "tests/with_cmocka.h"

/*
 * For tests that hold for every executor: the program's argument names the one
 * under test. Tasks record what they see, and the test asserts on its own thread
 * once they have ended: cmocka's state is thread-local.
 */

/** The name of the executor under test. */
extern const char *executor_under_test;

/**
 * Run the cases, with the executor's name before each of theirs. One whose initial state is a
 * text runs only on the executors that it names: what cmocka prints for a skipped test counts as
 * a failure in meson 1.0. For main() to return.
 */
int run_over_executor(int argc, char **argv, const struct CMUnitTest *cases, size_t count);

/** Options for an executor on which @at_once tasks can have started and wait at the same time. */
struct executor_options options_for(unsigned at_once);

/** An executor with these options, or with options_for(); fails the test if that fails. */
struct executor *start_executor_with(const struct executor_options *options);
struct executor *start_executor(unsigned at_once);

/** Run fn(arg) in a task of @executor and return what that returned. */
int run_in_task(struct executor *executor, int (*fn)(void *arg), void *arg);

/** Lanes for whatever needs some; they end with the program. */
struct offload *lanes_for_tests(void);

/** What the test's own thread waits for. */
struct countdown {
	pthread_mutex_t lock;
	pthread_cond_t is_zero;
	unsigned remaining; /* lock */
};

void countdown_init(struct countdown *countdown, unsigned count);
void countdown_finish(struct countdown *countdown);
void countdown_arrive(struct countdown *countdown);
void countdown_wait(struct countdown *countdown);

#endif
