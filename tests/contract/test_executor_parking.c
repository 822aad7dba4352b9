#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "executors/executor.h"
#include "tests/contract/over_executor.h"

/* Parking and waking: permits, deadlines, cancellation. */

static struct deadline far_away(void)
{
	return deadline_in_ms(60000);
}

static int wake_oneself_and_park(void *arg)
{
	int *errors = arg;

	task_wake(task_current());
	task_wake(task_current());
	errors[0] = task_park(far_away());
	errors[1] = task_park(deadline_in_ms(1));
	return 0;
}

static void a_wake_before_park_is_kept_once(void **state)
{
	struct executor *executor = start_executor(1);
	int errors[2];

	(void)state;
	(void)run_in_task(executor, wake_oneself_and_park, errors);
	executor_destroy(executor);
	assert_int_equal(errors[0], 0);
	assert_int_equal(errors[1], -ETIMEDOUT);
}

struct timed {
	struct deadline deadline;
	int64_t returned_ns;
};

static int park_until(void *arg)
{
	struct timed *timed = arg;
	int error = task_park(timed->deadline);

	timed->returned_ns = deadline_now_ns();
	return error;
}

static void park_times_out_at_its_deadline(void **state)
{
	struct executor *executor = start_executor(1);
	struct timed timed = {.deadline = deadline_in_ms(20)};
	struct timed past = {.deadline = {.ns = -1}};

	(void)state;
	assert_int_equal(run_in_task(executor, park_until, &timed), -ETIMEDOUT);
	assert_int_equal(run_in_task(executor, park_until, &past), -ETIMEDOUT);
	executor_destroy(executor);
	assert_true(timed.returned_ns >= timed.deadline.ns);
}

static int sleep_until(void *arg)
{
	struct timed *timed = arg;
	int error;

	task_wake(task_current()); /* which must not cut the sleep short */
	error = task_sleep_until(timed->deadline);
	timed->returned_ns = deadline_now_ns();
	return error;
}

static void sleep_lasts_at_least_as_long_as_asked(void **state)
{
	struct executor *executor = start_executor(1);
	struct timed timed = {.deadline = deadline_in_ms(20)};

	(void)state;
	assert_int_equal(run_in_task(executor, sleep_until, &timed), 0);
	executor_destroy(executor);
	assert_true(timed.returned_ns >= timed.deadline.ns);
}

/* What a cancelled task sees. */
struct cancelled {
	struct task task;
	struct cancel cancel;
	struct countdown about_to_park, over;
	enum cancel_reason reason_at_start, reason_at_end;
	int first, second, sleep, masked;
};

static int cancelled_run(struct task *task)
{
	struct cancelled *cancelled = (struct cancelled *)task;

	cancelled->reason_at_start = task_cancel_reason();
	countdown_arrive(&cancelled->about_to_park);
	do
		cancelled->first = task_park(far_away());
	while (cancelled->first == 0);
	cancelled->second = task_park(far_away());
	cancelled->sleep = task_sleep_until(far_away());
	/* The wake by the cancellation may be kept still. */
	do
		cancelled->masked = task_park_masked(deadline_in_ms(1));
	while (cancelled->masked == 0);
	cancelled->reason_at_end = task_cancel_reason();
	return 0;
}

static void cancelled_done(struct task *task)
{
	countdown_arrive(&((struct cancelled *)task)->over);
}

static void cancelled_init(struct cancelled *cancelled)
{
	*cancelled = (struct cancelled){
		.task = {.run = cancelled_run, .done = cancelled_done},
	};
	cancelled->task.cancel = &cancelled->cancel;
	cancel_init(&cancelled->cancel, NULL);
	countdown_init(&cancelled->about_to_park, 1);
	countdown_init(&cancelled->over, 1);
}

static void assert_saw_cancellation(struct cancelled *cancelled)
{
	assert_int_equal(cancelled->first, -ECANCELED);
	assert_int_equal(cancelled->second, -ECANCELED);
	assert_int_equal(cancelled->sleep, -ECANCELED);
	assert_int_equal(cancelled->masked, -ETIMEDOUT);
	assert_int_equal(cancelled->reason_at_end, CANCEL_CLIENT_GONE);
}

static void cancelled_finish(struct cancelled *cancelled)
{
	cancel_finish(&cancelled->cancel);
	countdown_finish(&cancelled->about_to_park);
	countdown_finish(&cancelled->over);
}

static void cancel_ends_every_park_but_a_masked_one(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct cancelled cancelled;

		cancelled_init(&cancelled);
		assert_int_equal(executor_submit(executor, &cancelled.task), 0);
		countdown_wait(&cancelled.about_to_park);
		/* Every other time, let it get as far as the park. */
		if (i % 2)
			sched_yield();
		cancel_fire(&cancelled.cancel, CANCEL_CLIENT_GONE);
		cancel_fire(&cancelled.cancel, CANCEL_SHUTDOWN);
		countdown_wait(&cancelled.over);
		assert_int_equal(cancelled.reason_at_start, CANCEL_NONE);
		assert_saw_cancellation(&cancelled);
		cancelled_finish(&cancelled);
	}
	executor_destroy(executor);
}

static void cancel_before_start_is_seen(void **state)
{
	struct executor *executor = start_executor(1);
	struct cancelled cancelled;

	(void)state;
	cancelled_init(&cancelled);
	cancel_fire(&cancelled.cancel, CANCEL_CLIENT_GONE);
	assert_int_equal(executor_submit(executor, &cancelled.task), 0);
	countdown_wait(&cancelled.over);
	executor_destroy(executor);
	assert_int_equal(cancelled.reason_at_start, CANCEL_CLIENT_GONE);
	assert_saw_cancellation(&cancelled);
	cancelled_finish(&cancelled);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_before_park_is_kept_once),
		cmocka_unit_test(park_times_out_at_its_deadline),
		cmocka_unit_test(sleep_lasts_at_least_as_long_as_asked),
		cmocka_unit_test(cancel_ends_every_park_but_a_masked_one),
		cmocka_unit_test(cancel_before_start_is_seen),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
