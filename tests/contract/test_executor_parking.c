#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "executors/carrier.h"
#include "executors/executor.h"
#include "executors/latch.h"
#include "tests/contract/over_executor.h"

/* Parking and waking: permits, deadlines, cancellation. */

enum { WAKES = 100 };

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

static void *arrive_from_outside(void *arg)
{
	latch_arrive(arg);
	return NULL;
}

static int wait_for_a_foreign_thread(void *arg)
{
	int *errors = arg;

	for (int i = 0; i < WAKES; i++) {
		struct latch latch; /* on this stack, and gone as soon as it has opened */
		pthread_t thread;

		latch_init(&latch, 1);
		errors[i] = pthread_create(&thread, NULL, arrive_from_outside, &latch);
		if (errors[i] == 0)
			errors[i] = latch_wait(&latch, far_away());
		latch_finish(&latch);
		(void)pthread_join(thread, NULL);
	}
	return 0;
}

static void a_foreign_thread_wakes_a_task(void **state)
{
	struct executor *executor = start_executor(1);
	int errors[WAKES];

	(void)state;
	(void)run_in_task(executor, wait_for_a_foreign_thread, errors);
	executor_destroy(executor);
	for (int i = 0; i < WAKES; i++)
		assert_int_equal(errors[i], 0);
}

/* With an fd watched, a park needs a descriptor to be woken through: here there is none left. */
static void ignore_ready(struct carrier_fd *watch, uint32_t events)
{
	(void)watch;
	(void)events;
}

struct starved {
	struct carrier_fd watch;
	int error;
};

static void watch_quiet_pipe(struct carrier *carrier, void *arg)
{
	struct starved *starved = arg;

	starved->error = carrier_watch(carrier, &starved->watch, EPOLLIN);
}

static void unwatch_quiet_pipe(struct carrier *carrier, void *arg)
{
	(void)carrier_watch(carrier, &((struct starved *)arg)->watch, 0);
}

static int set_fd_limit(rlim_t limit, rlim_t *before)
{
	struct rlimit limits;

	if (getrlimit(RLIMIT_NOFILE, &limits) < 0)
		return -errno;
	*before = limits.rlim_cur;
	limits.rlim_cur = limit;
	return setrlimit(RLIMIT_NOFILE, &limits) < 0 ? -errno : 0;
}

static int wait_without_descriptors(void *arg)
{
	struct starved starved = {.watch.ready = ignore_ready};
	rlim_t before = RLIM_INFINITY, own_limit;
	int errors[WAKES] = {0};
	int pipe[2] = {-1, -1};

	(void)arg;
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return -errno;
	starved.watch.fd = pipe[0];
	carrier_call(watch_quiet_pipe, &starved);
	starved.error |= set_fd_limit((rlim_t)pipe[1] + 1, &before);
	(void)wait_for_a_foreign_thread(errors);
	if (task_park(deadline_in_ms(15)) != -ETIMEDOUT)
		starved.error = -EPROTO;
	starved.error |= set_fd_limit(before, &own_limit);
	carrier_call(unwatch_quiet_pipe, &starved);
	(void)close(pipe[0]);
	(void)close(pipe[1]);
	for (int i = 0; i < WAKES; i++)
		starved.error |= errors[i];
	return starved.error;
}

static void a_wake_arrives_without_a_free_descriptor(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, wait_without_descriptors, NULL), 0);
	executor_destroy(executor);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_before_park_is_kept_once),
		cmocka_unit_test(park_times_out_at_its_deadline),
		cmocka_unit_test(sleep_lasts_at_least_as_long_as_asked),
		cmocka_unit_test(cancel_ends_every_park_but_a_masked_one),
		cmocka_unit_test(cancel_before_start_is_seen),
		cmocka_unit_test(a_foreign_thread_wakes_a_task),
		cmocka_unit_test(a_wake_arrives_without_a_free_descriptor),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
