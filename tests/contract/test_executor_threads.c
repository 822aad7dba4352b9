#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "executors/carrier.h"
#include "executors/executor.h"
#include "tests/contract/over_executor.h"

/* The pthreads below the tasks: their signals, what they do when idle, how they become more. */

static int look_at_signals(void *arg)
{
	sigset_t *blocked = arg;

	return -pthread_sigmask(SIG_SETMASK, NULL, blocked);
}

static void asynchronous_signals_are_blocked_and_faults_are_not(void **state)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	static const int others[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM, SIGPIPE, SIGCHLD, SIGUSR1};
	struct executor *executor = start_executor(1);
	sigset_t blocked;

	(void)state;
	assert_int_equal(run_in_task(executor, look_at_signals, &blocked), 0);
	executor_destroy(executor);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		assert_false(sigismember(&blocked, faults[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(sigismember(&blocked, others[i]));
}

struct alarm {
	struct carrier_timer timer;
	struct countdown rung;
};

static void ring(struct carrier_timer *timer)
{
	countdown_arrive(&((struct alarm *)timer)->rung);
}

static void set_on_carrier(struct carrier *carrier, void *arg)
{
	if (carrier_set_timer(carrier, arg, deadline_in_ms(20)) < 0)
		abort();
}

static int set_alarm(void *arg)
{
	carrier_call(set_on_carrier, arg);
	return 0;
}

/* Libraries tidy up by it: connections that nobody needs any more. */
static void a_timer_fires_though_no_task_is_left(void **state)
{
	struct executor *executor = start_executor(1);
	struct alarm alarm = {.timer.fire = ring};

	(void)state;
	countdown_init(&alarm.rung, 1);
	assert_int_equal(run_in_task(executor, set_alarm, &alarm.timer), 0);
	countdown_wait(&alarm.rung);
	executor_destroy(executor);
	countdown_finish(&alarm.rung);
}

enum { GROWTHS = 20, SUBMITS = 20000 };

struct submitted {
	struct task task;
	struct countdown *over;
};

static int do_nothing(struct task *task)
{
	(void)task;
	return 0;
}

static void arrive(struct task *task)
{
	countdown_arrive(((struct submitted *)task)->over);
}

struct grown {
	struct executor *executor;
	atomic_bool has_grown;
};

static void *grow_and_shrink(void *arg)
{
	struct grown *grown = arg;

	for (unsigned i = 0; i < GROWTHS; i++) {
		(void)executor_resize(grown->executor, 2 + i);
		(void)executor_resize(grown->executor, 1);
	}
	atomic_store(&grown->has_grown, true);
	return NULL;
}

/* New carriers appear under those who place tasks, and go while they do: nothing may be left lying.
 * Tasks one at a time, so that each finds the carriers asleep. */
static void no_submit_is_lost_while_carriers_come_and_go(void **state)
{
	struct grown grown = {.executor = start_executor(1)};
	pthread_t resizer;

	(void)state;
	assert_int_equal(pthread_create(&resizer, NULL, grow_and_shrink, &grown), 0);
	for (int i = 0; i < SUBMITS && !atomic_load(&grown.has_grown); i++) {
		struct countdown over;
		struct submitted submitted = {.task = {.run = do_nothing, .done = arrive}};

		countdown_init(&over, 1);
		submitted.over = &over;
		assert_int_equal(executor_submit(grown.executor, &submitted.task), 0);
		countdown_wait(&over);
		countdown_finish(&over);
	}
	assert_int_equal(pthread_join(resizer, NULL), 0);
	executor_destroy(grown.executor);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asynchronous_signals_are_blocked_and_faults_are_not),
		cmocka_unit_test_prestate(a_timer_fires_though_no_task_is_left, "coroutine, pool"),
		cmocka_unit_test_prestate(no_submit_is_lost_while_carriers_come_and_go,
	                                  "coroutine"),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
