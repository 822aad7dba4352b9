#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "executors/coroutine/executor.h"
#include "executors/executor.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/*
 * Which carrier runs what, and when: nothing waits for one carrier while another
 * could run it, and nothing is passed over for ever. Mostly with a threshold that
 * is never reached, so that a carrier that is kept stays kept.
 */
enum { NEVER_MS = 3600 * 1000, PATIENCE_MS = 20000 };

static struct executor *start_carriers(unsigned carriers, unsigned spares, unsigned threshold_ms)
{
	struct executor_options options = options_for(1);

	options.threads = carriers;
	options.spare_drivers = spares;
	options.pinned_threshold_ms = threshold_ms;
	return start_executor_with(&options);
}

static void spin_for_ns(int64_t ns)
{
	struct deadline end = deadline_in_ns(ns);

	while (deadline_remaining_ns(end) > 0)
		continue;
}

/* Keep the thread until @counter has come to @wanted. False: it has not, for very long. */
static bool spin_until(atomic_uint *counter, unsigned wanted)
{
	struct deadline end = deadline_in_ms(PATIENCE_MS);

	while (atomic_load(counter) < wanted)
		if (deadline_remaining_ns(end) == 0)
			return false;
	return true;
}

/* A root task that the test's own thread waits for. */
struct root {
	struct task task;
	struct countdown *over;
};

static void root_done(struct task *task)
{
	countdown_arrive(((struct root *)task)->over);
}

static void submit(struct executor *executor, struct root *root, int (*run)(struct task *task),
                   struct countdown *over)
{
	*root = (struct root){.task = {.run = run, .done = root_done}, .over = over};
	assert_int_equal(executor_submit(executor, &root->task), 0);
}

static void submit_and_wait(struct executor *executor, int (*run)(struct task *task))
{
	struct countdown over;
	struct root root;

	countdown_init(&over, 1);
	submit(executor, &root, run, &over);
	countdown_wait(&over);
	countdown_finish(&over);
	assert_int_equal(root.task.result, 0);
}

static int return_0(struct task *task)
{
	(void)task;
	return 0;
}

/* ------ */

enum { CARRIERS = 4 };

static atomic_uint arrived;

static int meet_the_others(struct task *task)
{
	(void)task;
	atomic_fetch_add(&arrived, 1);
	return spin_until(&arrived, CARRIERS) ? 0 : -ETIMEDOUT;
}

static int fork_who_meet(struct task *task)
{
	static struct task children[CARRIERS];
	struct scope scope;

	(void)task;
	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (unsigned i = 0; i < CARRIERS; i++) {
		children[i] = (struct task){.run = meet_the_others};
		if (scope_fork(&scope, &children[i]) < 0)
			return -EAGAIN;
	}
	return scope_join(&scope);
}

/* Nobody comes by who is awake anyway. */
static void wait_until_all_sleep(struct executor *executor)
{
	const struct coroutine_executor *self = (const struct coroutine_executor *)executor;

	for (unsigned i = 0; i < CARRIERS; i++)
		while (!atomic_load(&self->carriers[i]->sleeping))
			(void)sched_yield();
}

static void children_of_one_scope_run_on_all_carriers(void **state)
{
	struct executor *executor = start_carriers(CARRIERS, 0, NEVER_MS);

	(void)state;
	wait_until_all_sleep(executor);
	atomic_store(&arrived, 0);
	submit_and_wait(executor, fork_who_meet);
	executor_destroy(executor);
}

/* ------ */

static atomic_uint may_go, has_begun;

static int keep_the_carrier(struct task *task)
{
	(void)task;
	atomic_fetch_add(&has_begun, 1);
	return spin_until(&may_go, 1) ? 0 : -ETIMEDOUT;
}

static void a_root_placed_on_a_kept_carrier_is_run_by_another(void **state)
{
	struct executor *executor = start_carriers(2, 0, NEVER_MS);
	struct countdown over;
	struct root keeper;

	(void)state;
	atomic_store(&may_go, 0);
	atomic_store(&has_begun, 0);
	countdown_init(&over, 1);
	submit(executor, &keeper, keep_the_carrier, &over);
	assert_true(spin_until(&has_begun, 1));
	/* Of so many some are placed on either. */
	for (unsigned i = 0; i < 100; i++)
		submit_and_wait(executor, return_0);
	atomic_store(&may_go, 1);
	countdown_wait(&over);
	countdown_finish(&over);
	assert_int_equal(keeper.task.result, 0);
	executor_destroy(executor);
}

/* ------ */

enum { LEFT = 40, STREAM = 5000 };

static struct {
	struct executor *executor;
	atomic_uint served;         /* of those that were there when the carrier retired */
	unsigned submitted;         /* since, one by one: each submits the next */
	unsigned submitted_at_last; /* when the last of those was served */
	struct root stream[STREAM + 1];
	struct countdown over;
} line;

static int serve_one_that_was_left(struct task *task)
{
	(void)task;
	if (atomic_fetch_add(&line.served, 1) + 1 == LEFT)
		line.submitted_at_last = line.submitted;
	return 0;
}

static void stream_done(struct task *task)
{
	(void)task;
}

/* So the one carrier that is left always has something new in its own queue. */
static int submit_the_next(struct task *task)
{
	struct root *next = &line.stream[line.submitted + 1];

	(void)task;
	if (line.submitted == STREAM || atomic_load(&line.served) == LEFT) {
		countdown_arrive(&line.over);
		return 0;
	}
	line.submitted++;
	next->task = (struct task){.run = submit_the_next, .done = stream_done};
	return executor_submit(line.executor, &next->task);
}

static void what_a_retired_carrier_left_is_served_among_what_is_new(void **state)
{
	static struct root left[LEFT];
	struct countdown left_over, keepers_over;
	struct root keepers[2];

	(void)state;
	line.executor = start_carriers(2, 0, NEVER_MS);
	atomic_store(&may_go, 0);
	atomic_store(&has_begun, 0);
	countdown_init(&keepers_over, 2);
	countdown_init(&left_over, LEFT);
	countdown_init(&line.over, 1);
	for (unsigned i = 0; i < 2; i++)
		submit(line.executor, &keepers[i], keep_the_carrier, &keepers_over);
	assert_true(spin_until(&has_begun, 2));
	for (unsigned i = 0; i < LEFT; i++)
		submit(line.executor, &left[i], serve_one_that_was_left, &left_over);
	assert_int_equal(executor_resize(line.executor, 1), 0);
	line.stream[0].task = (struct task){.run = submit_the_next, .done = stream_done};
	assert_int_equal(executor_submit(line.executor, &line.stream[0].task), 0);
	atomic_store(&may_go, 1);
	countdown_wait(&line.over);
	countdown_wait(&left_over);
	countdown_wait(&keepers_over);
	executor_destroy(line.executor);
	assert_in_range(line.submitted_at_last, 0, STREAM - 1);
	countdown_finish(&line.over);
	countdown_finish(&left_over);
	countdown_finish(&keepers_over);
}

/* ------ */

/* Shrinks the executor each time that @wanted grows. */
static struct {
	struct executor *executor;
	atomic_uint wanted, done;
	atomic_bool is_over;
	int error;
} shrinker;

static void *shrinker_main(void *arg)
{
	(void)arg;
	for (unsigned round = 1;; round++) {
		while (atomic_load(&shrinker.wanted) < round)
			if (atomic_load(&shrinker.is_over))
				return NULL;
		spin_for_ns(round * 97 % 20000);
		shrinker.error = executor_resize(shrinker.executor, 1);
		atomic_store(&shrinker.done, round);
	}
}

/* One at a time, so that nothing which comes later has it found. */
static void no_submit_is_lost_to_a_carrier_that_retires(void **state)
{
	struct deadline end = deadline_in_ms(1000);
	pthread_t thread;

	(void)state;
	shrinker.executor = start_carriers(1, 4, NEVER_MS);
	assert_int_equal(pthread_create(&thread, NULL, shrinker_main, NULL), 0);
	for (unsigned round = 1; deadline_remaining_ns(end) > 0; round++) {
		(void)executor_resize(shrinker.executor, 3);
		atomic_store(&shrinker.wanted, round);
		spin_for_ns(round * 61 % 10000);
		submit_and_wait(shrinker.executor, return_0);
		assert_true(spin_until(&shrinker.done, round));
		assert_int_equal(shrinker.error, 0);
	}
	atomic_store(&shrinker.is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	executor_destroy(shrinker.executor);
}

/* ------ */

static int take_turns(struct task *task)
{
	struct deadline end = deadline_in_ms(1000);

	(void)task;
	while (deadline_remaining_ns(end) > 0) {
		spin_for_ns(50000);
		task_yield();
	}
	return 0;
}

/* It is never found idle, and mostly on a task's stack: but never on the same for long. */
static void a_carrier_whose_tasks_take_turns_is_not_kept(void **state)
{
	struct executor *executor = start_carriers(1, 4, 250);
	struct pinned_event event;
	struct countdown over;
	struct root roots[2];
	uint64_t next = 0;

	(void)state;
	countdown_init(&over, 2);
	for (unsigned i = 0; i < 2; i++)
		submit(executor, &roots[i], take_turns, &over);
	countdown_wait(&over);
	countdown_finish(&over);
	assert_int_equal(executor_pinned_events(executor, &next, &event, 1), 0);
	executor_destroy(executor);
}

/* ------ */

static atomic_bool is_to_block;

/* Of a class that is found heavy, since the first ones block. */
static int block_or_not(struct task *task)
{
	(void)task;
	if (!atomic_load(&is_to_block)) {
		atomic_fetch_add(&arrived, 1);
		return 0;
	}
	atomic_fetch_add(&has_begun, 1);
	return spin_until(&may_go, 1) ? 0 : -ETIMEDOUT;
}

/* So its carrier always has something ready. */
static int yield_until_one_has_arrived(struct task *task)
{
	struct deadline end = deadline_in_ms(PATIENCE_MS);

	(void)task;
	while (atomic_load(&arrived) == 0 && deadline_remaining_ns(end) > 0)
		task_yield();
	return atomic_load(&arrived) > 0 ? 0 : -ETIMEDOUT;
}

static void a_heavy_task_has_its_turn_on_a_busy_carrier(void **state)
{
	enum { SPARES = 3 };
	struct executor *executor = start_carriers(1, SPARES, 2);
	struct root blockers[SPARES], busy, light;
	struct countdown over;

	(void)state;
	atomic_store(&may_go, 0);
	atomic_store(&has_begun, 0);
	atomic_store(&arrived, 0);
	atomic_store(&is_to_block, true);
	countdown_init(&over, SPARES + 2);
	/* The class becomes heavy by the second; they keep all threads but the carrier's. */
	for (unsigned i = 0; i < SPARES; i++) {
		submit(executor, &blockers[i], block_or_not, &over);
		assert_true(spin_until(&has_begun, i + 1));
	}
	submit(executor, &busy, yield_until_one_has_arrived, &over);
	atomic_store(&is_to_block, false);
	submit(executor, &light, block_or_not, &over);
	assert_true(spin_until(&arrived, 1));
	atomic_store(&may_go, 1);
	countdown_wait(&over);
	countdown_finish(&over);
	assert_int_equal(busy.task.result, 0);
	executor_destroy(executor);
}

#define ON_CARRIERS(name) cmocka_unit_test_prestate(name, "coroutine")

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		ON_CARRIERS(children_of_one_scope_run_on_all_carriers),
		ON_CARRIERS(a_root_placed_on_a_kept_carrier_is_run_by_another),
		ON_CARRIERS(what_a_retired_carrier_left_is_served_among_what_is_new),
		ON_CARRIERS(no_submit_is_lost_to_a_carrier_that_retires),
		ON_CARRIERS(a_carrier_whose_tasks_take_turns_is_not_kept),
		ON_CARRIERS(a_heavy_task_has_its_turn_on_a_busy_carrier),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
