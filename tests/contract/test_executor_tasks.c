#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "executors/executor.h"
#include "executors/latch.h"
#include "tests/contract/over_executor.h"

/* Root tasks: their life, limits, and what a task knows of itself. */

enum { MANY = 1000 };

static struct deadline far_away(void)
{
	return deadline_in_ms(60000);
}

/* A task that counts itself. */
struct counted {
	struct task task;
	atomic_uint *runs;
	struct countdown *over;
	int returns;
};

static int counted_run(struct task *task)
{
	struct counted *counted = (struct counted *)task;

	atomic_fetch_add(counted->runs, 1);
	return counted->returns;
}

static void counted_done(struct task *task)
{
	countdown_arrive(((struct counted *)task)->over);
}

/* A task that waits until it is let go. */
struct held {
	struct task task;
	struct latch latch;
	struct countdown *over;
	int error; /* of its wait */
};

static int held_run(struct task *task)
{
	struct held *held = (struct held *)task;

	held->error = latch_wait(&held->latch, far_away());
	/* Once let go, the latch belongs to this task alone. */
	if (held->error < 0)
		(void)latch_wait_masked(&held->latch, far_away());
	return 0;
}

static void held_done(struct task *task)
{
	countdown_arrive(((struct held *)task)->over);
}

static void held_init(struct held *held, struct countdown *over)
{
	*held = (struct held){.task = {.run = held_run, .done = held_done}, .over = over};
	latch_init(&held->latch, 1);
}

static void an_unknown_name_is_refused(void **state)
{
	struct executor_options options = options_for(4);
	struct executor *executor = NULL;

	(void)state;
	assert_int_equal(executor_create("no such executor", &options, &executor), -ENOENT);
	assert_null(executor);
}

static void options_out_of_range_are_refused(void **state)
{
	struct executor_options options = options_for(4);
	struct executor *executor = NULL;

	(void)state;
	options.max_tasks = 0;
	assert_int_equal(executor_create(executor_under_test, &options, &executor), -EINVAL);
	assert_null(executor);
	options = options_for(4);
	options.threads = 0;
	assert_int_equal(executor_create(executor_under_test, &options, &executor), -EINVAL);
	assert_null(executor);
}

static void an_unused_executor_ends(void **state)
{
	struct executor *executor = start_executor(4);

	(void)state;
	assert_string_equal(executor_name(executor), executor_under_test);
	executor_destroy(executor);
	executor_destroy(NULL);
}

static void runs_every_submitted_task(void **state)
{
	static struct counted tasks[MANY];
	struct executor *executor = start_executor(4);
	struct countdown over;
	atomic_uint runs = 0;

	(void)state;
	countdown_init(&over, MANY);
	for (int i = 0; i < MANY; i++) {
		tasks[i] = (struct counted){
			.task = {.run = counted_run, .done = counted_done},
			.runs = &runs,
			.over = &over,
			.returns = -i,
		};
		assert_int_equal(executor_submit(executor, &tasks[i].task), 0);
	}
	countdown_wait(&over);
	executor_destroy(executor);
	assert_int_equal(runs, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(tasks[i].task.result, -i);
	countdown_finish(&over);
}

static void refuses_when_max_tasks_reached(void **state)
{
	struct executor_options options = options_for(4);
	struct executor_stats stats;
	struct executor *executor;
	struct held held[3], refused;
	struct countdown over;

	(void)state;
	options.max_tasks = 3;
	executor = start_executor_with(&options);
	countdown_init(&over, 3);
	for (int i = 0; i < 3; i++) {
		held_init(&held[i], &over);
		assert_int_equal(executor_submit(executor, &held[i].task), 0);
	}
	held_init(&refused, &over);
	assert_int_equal(executor_submit(executor, &refused.task), -EAGAIN);
	executor_stats(executor, &stats);
	assert_int_equal(stats.submitted, 3);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.live, 3);
	for (int i = 0; i < 3; i++)
		latch_arrive(&held[i].latch);
	countdown_wait(&over);
	executor_destroy(executor);
	for (int i = 0; i < 3; i++)
		assert_int_equal(held[i].error, 0);
	countdown_finish(&over);
}

static void whoever_hears_of_an_end_can_submit_again(void **state)
{
	struct executor_options options = options_for(1);
	struct executor *executor;
	struct countdown over;
	atomic_uint runs = 0;

	(void)state;
	options.max_tasks = 1;
	options.max_threads = 1;
	options.max_queued = 1;
	executor = start_executor_with(&options);
	for (int i = 0; i < 300; i++) {
		struct counted counted = {
			.task = {.run = counted_run, .done = counted_done},
			.runs = &runs,
			.over = &over,
		};

		countdown_init(&over, 1);
		assert_int_equal(executor_submit(executor, &counted.task), 0);
		countdown_wait(&over);
		countdown_finish(&over);
	}
	executor_destroy(executor);
	assert_int_equal(runs, 300);
}

/* The second of two comes when the thread has just looked for one and found none. */
static void a_submit_just_before_a_thread_sleeps_is_not_lost(void **state)
{
	struct executor *executor = start_executor(1);
	atomic_uint runs = 0;

	(void)state;
	for (int i = 0; i < 5 * MANY; i++) {
		struct counted pair[2];
		struct countdown over;
		int64_t second_ns;

		countdown_init(&over, 2);
		for (int k = 0; k < 2; k++)
			pair[k] = (struct counted){
				.task = {.run = counted_run, .done = counted_done},
				.runs = &runs,
				.over = &over,
			};
		assert_int_equal(executor_submit(executor, &pair[0].task), 0);
		/* The moment to hit is short, and another on each machine. */
		second_ns = deadline_now_ns() + i * 37 % 40000;
		while (deadline_now_ns() < second_ns)
			continue;
		assert_int_equal(executor_submit(executor, &pair[1].task), 0);
		countdown_wait(&over);
		countdown_finish(&over);
	}
	executor_destroy(executor);
	assert_int_equal(runs, 10 * MANY);
}

static void refuses_when_max_queued_or_max_threads_reached(void **state)
{
	struct executor_options options = options_for(2);
	struct executor *executor;
	struct held held[5];
	struct countdown over;
	unsigned admitted = 0;

	(void)state;
	options.max_threads = 2;
	options.max_queued = 2;
	executor = start_executor_with(&options);
	countdown_init(&over, 5);
	for (int i = 0; i < 5; i++) {
		int error;

		held_init(&held[i], &over);
		error = executor_submit(executor, &held[i].task);
		if (error == 0)
			admitted++;
		else
			assert_int_equal(error, -EAGAIN);
		if (error < 0)
			countdown_arrive(&over);
	}
	/* A pool admits two that run, if its threads were quick enough, and two that wait. */
	assert_in_range(admitted, 2, 4);
	for (int i = 0; i < 5; i++)
		latch_arrive(&held[i].latch);
	countdown_wait(&over);
	executor_destroy(executor);
	countdown_finish(&over);
}

struct shutdown_probe {
	struct task task;
	struct counted late;
	struct latch may_submit;
	struct executor *executor;
	int error;
};

static int submit_while_closing(struct task *task)
{
	struct shutdown_probe *probe = (struct shutdown_probe *)task;

	(void)latch_wait_masked(&probe->may_submit, DEADLINE_NEVER);
	/* The destroyer is on its way; sooner or later it is seen. */
	while ((probe->error = executor_submit(probe->executor, &probe->late.task)) == -EAGAIN)
		task_yield();
	return 0;
}

static void ignore_done(struct task *task)
{
	(void)task;
}

static void a_task_cannot_submit_once_destroy_was_called(void **state)
{
	struct executor_options options = options_for(2);
	struct shutdown_probe probe = {
		.task = {.run = submit_while_closing, .done = ignore_done},
		.late.task = {.run = counted_run, .done = counted_done},
	};

	(void)state;
	options.max_tasks = 1; /* -EAGAIN until it is -ESHUTDOWN */
	probe.executor = start_executor_with(&options);
	latch_init(&probe.may_submit, 1);
	assert_int_equal(executor_submit(probe.executor, &probe.task), 0);
	latch_arrive(&probe.may_submit);
	executor_destroy(probe.executor);
	assert_int_equal(probe.error, -ESHUTDOWN);
}

static void executor_destroy_waits_for_live_tasks(void **state)
{
	struct executor *executor = start_executor(8);
	struct countdown over;
	struct held held[8];

	(void)state;
	countdown_init(&over, 8);
	for (int i = 0; i < 8; i++) {
		held_init(&held[i], &over);
		held[i].error = 1;
		assert_int_equal(executor_submit(executor, &held[i].task), 0);
	}
	for (int i = 0; i < 8; i++)
		latch_arrive(&held[i].latch);
	executor_destroy(executor);
	for (int i = 0; i < 8; i++)
		assert_int_equal(held[i].error, 0);
	assert_int_equal(over.remaining, 0);
	countdown_finish(&over);
}

static int sleep_for_a_while(struct task *task)
{
	struct held *held = (struct held *)task;

	held->error = task_sleep_until(deadline_in_ms(20));
	return 0;
}

/* Threads that have nothing to do must hear of its end, too. */
static void executor_destroy_waits_for_a_sleeping_task(void **state)
{
	struct executor *executor = start_executor(4);
	struct held sleeper = {.task = {.run = sleep_for_a_while, .done = ignore_done}};

	(void)state;
	sleeper.error = 1;
	assert_int_equal(executor_submit(executor, &sleeper.task), 0);
	executor_destroy(executor);
	assert_int_equal(sleeper.error, 0);
}

static void cancel_after_return_is_harmless(void **state)
{
	struct executor *executor = start_executor(1);
	struct countdown over;
	struct cancel cancel;
	atomic_uint runs = 0;
	struct counted counted = {
		.task = {.run = counted_run, .done = counted_done, .cancel = &cancel},
		.runs = &runs,
		.over = &over,
	};

	(void)state;
	cancel_init(&cancel, NULL);
	countdown_init(&over, 1);
	assert_int_equal(executor_submit(executor, &counted.task), 0);
	countdown_wait(&over);
	memset(&counted, 0xff, sizeof(counted));
	cancel_fire(&cancel, CANCEL_CLIENT_GONE);
	executor_destroy(executor);
	cancel_finish(&cancel);
	countdown_finish(&over);
}

static int own_deadline_and_name(void *arg)
{
	bool *are_right = arg;

	*are_right = task_deadline().ns == DEADLINE_NEVER.ns &&
	             strcmp(task_executor_name(), executor_under_test) == 0;
	return 0;
}

static void a_task_knows_its_deadline_and_executor(void **state)
{
	struct executor *executor = start_executor(1);
	bool are_right = false;

	(void)state;
	assert_null(task_current());
	(void)run_in_task(executor, own_deadline_and_name, &are_right);
	executor_destroy(executor);
	assert_true(are_right);
}

struct errno_task {
	struct task task;
	int number;
	struct countdown *over;
	int mismatches;
};

static int keep_errno(struct task *task)
{
	struct errno_task *own = (struct errno_task *)task;

	for (int round = 0; round < 20; round++) {
		errno = own->number;
		if (round % 3 == 0)
			task_yield();
		else
			(void)task_park(deadline_in_ns(own->number * 10000LL));
		own->mismatches += errno != own->number;
	}
	return 0;
}

static void errno_task_done(struct task *task)
{
	countdown_arrive(((struct errno_task *)task)->over);
}

static void errno_is_the_tasks_own(void **state)
{
	enum { TASKS = 100 };
	struct executor *executor = start_executor(TASKS);
	struct errno_task tasks[TASKS];
	struct countdown over;

	(void)state;
	countdown_init(&over, TASKS);
	for (int i = 0; i < TASKS; i++) {
		tasks[i] = (struct errno_task){
			.task = {.run = keep_errno, .done = errno_task_done},
			.number = i + 1,
			.over = &over,
		};
		assert_int_equal(executor_submit(executor, &tasks[i].task), 0);
	}
	countdown_wait(&over);
	executor_destroy(executor);
	for (int i = 0; i < TASKS; i++)
		assert_int_equal(tasks[i].mismatches, 0);
	countdown_finish(&over);
}

static void wait_until_parked(struct executor *executor, unsigned count,
                              struct executor_stats *stats)
{
	do {
		sched_yield();
		executor_stats(executor, stats);
	} while (stats->parked < count || stats->running > 0);
}

static void stats_add_up(void **state)
{
	struct executor *executor = start_executor(5);
	struct executor_stats stats;
	struct countdown over;
	struct held held[5];

	(void)state;
	countdown_init(&over, 5);
	for (int i = 0; i < 5; i++) {
		held_init(&held[i], &over);
		assert_int_equal(executor_submit(executor, &held[i].task), 0);
	}
	wait_until_parked(executor, 5, &stats);
	assert_int_equal(stats.live, 5);
	assert_int_equal(stats.parked, 5);
	assert_int_equal(stats.queued, 0);
	assert_true(stats.threads > 0);
	for (int i = 0; i < 5; i++)
		latch_arrive(&held[i].latch);
	countdown_wait(&over);
	executor_stats(executor, &stats);
	assert_int_equal(stats.submitted, 5);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(stats.live, 0);
	assert_int_equal(stats.parked, 0);
	executor_destroy(executor);
	countdown_finish(&over);
}

/* Each keeps some carrier busy until the other has run, but yields. */
struct turns {
	struct task task;
	atomic_uint *arrived;
	struct countdown *over;
};

static int yield_until_all_arrived(struct task *task)
{
	struct turns *turns = (struct turns *)task;

	atomic_fetch_add(turns->arrived, 1);
	while (atomic_load(turns->arrived) < 8)
		task_yield();
	return 0;
}

static void turns_done(struct task *task)
{
	countdown_arrive(((struct turns *)task)->over);
}

static void yield_lets_others_run(void **state)
{
	struct executor *executor = start_executor(8);
	struct turns turns[8];
	struct countdown over;
	atomic_uint arrived = 0;

	(void)state;
	countdown_init(&over, 8);
	for (int i = 0; i < 8; i++) {
		turns[i] = (struct turns){
			.task = {.run = yield_until_all_arrived, .done = turns_done},
			.arrived = &arrived,
			.over = &over,
		};
		assert_int_equal(executor_submit(executor, &turns[i].task), 0);
	}
	countdown_wait(&over);
	executor_destroy(executor);
	assert_int_equal(arrived, 8);
	countdown_finish(&over);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_name_is_refused),
		cmocka_unit_test(options_out_of_range_are_refused),
		cmocka_unit_test(an_unused_executor_ends),
		cmocka_unit_test(runs_every_submitted_task),
		cmocka_unit_test(refuses_when_max_tasks_reached),
		cmocka_unit_test(whoever_hears_of_an_end_can_submit_again),
		cmocka_unit_test_prestate(a_submit_just_before_a_thread_sleeps_is_not_lost,
	                                  "coroutine, pool"),
		cmocka_unit_test_prestate(refuses_when_max_queued_or_max_threads_reached,
	                                  "pool, thread"),
		cmocka_unit_test(a_task_cannot_submit_once_destroy_was_called),
		cmocka_unit_test(executor_destroy_waits_for_live_tasks),
		cmocka_unit_test(executor_destroy_waits_for_a_sleeping_task),
		cmocka_unit_test(cancel_after_return_is_harmless),
		cmocka_unit_test(a_task_knows_its_deadline_and_executor),
		cmocka_unit_test(errno_is_the_tasks_own),
		cmocka_unit_test(stats_add_up),
		cmocka_unit_test(yield_lets_others_run),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
