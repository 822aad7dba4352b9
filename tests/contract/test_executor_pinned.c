#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "executors/carrier.h"
#include "executors/executor.h"
#include "executors/latch.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/*
 * Tasks that block or compute on their carrier instead of parking. There is one
 * carrier, and what the task waits for comes from another task on it: without the
 * hand-over these tests would not end.
 */

static struct executor *start_with_spares(unsigned spares)
{
	struct executor_options options = options_for(1);

	options.threads = 1;
	options.max_tasks = 1000;
	options.spare_drivers = spares;
	options.pinned_threshold_ms = 2;
	return start_executor_with(&options);
}

enum how { BY_READ, BY_SPINNING };

/* One task keeps the carrier until another one lets it go. */
struct stuck {
	struct task keeper, helper;
	enum how how;
	int pipe[2];
	atomic_bool go;
	bool helper_first; /* it has started and sleeps when the keeper starts */
	int keeper_errno;
	bool keeper_is_itself;
	int parks; /* of the keeper, after it was stuck */
};

static struct stuck *of_keeper(struct task *task)
{
	return (struct stuck *)((char *)task - offsetof(struct stuck, keeper));
}

static struct stuck *of_helper(struct task *task)
{
	return (struct stuck *)((char *)task - offsetof(struct stuck, helper));
}

static void keep_carrier(struct stuck *stuck)
{
	char byte;

	switch (stuck->how) {
	case BY_READ:
		if (read(stuck->pipe[0], &byte, 1) != 1)
			abort();
		break;
	case BY_SPINNING:
		while (!atomic_load(&stuck->go))
			continue;
		break;
	}
}

static int keeper_run(struct task *task)
{
	struct stuck *stuck = of_keeper(task);

	keep_carrier(stuck);
	errno = 4711;
	/* The first of these finds the carrier lost, and comes back on another thread. */
	for (int i = 0; i < 3; i++)
		stuck->parks += task_park(deadline_in_ns(100000)) == -ETIMEDOUT;
	stuck->keeper_errno = errno;
	stuck->keeper_is_itself = task_current() == task;
	return 17;
}

static int helper_run(struct task *task)
{
	struct stuck *stuck = of_helper(task);

	if (stuck->helper_first)
		(void)task_sleep_until(deadline_in_ms(5));
	atomic_store(&stuck->go, true);
	return write(stuck->pipe[1], "x", 1) == 1 ? 0 : -EPIPE;
}

static int run_stuck(void *arg)
{
	struct stuck *stuck = arg;
	struct scope scope;

	stuck->keeper = (struct task){.run = keeper_run, .name = "keeper"};
	stuck->helper = (struct task){.run = helper_run, .name = "helper"};
	scope_open(&scope, &(struct scope_options){0});
	if (stuck->helper_first) {
		(void)scope_fork(&scope, &stuck->helper);
		task_yield();
		(void)scope_fork(&scope, &stuck->keeper);
	} else {
		(void)scope_fork(&scope, &stuck->keeper);
		(void)scope_fork(&scope, &stuck->helper);
	}
	return scope_join(&scope);
}

static void check_stuck(enum how how, bool helper_first, enum pinned_kind kind)
{
	struct executor *executor = start_with_spares(4);
	struct stuck stuck = {.how = how, .helper_first = helper_first};
	struct pinned_event events[8];
	uint64_t next = 0;
	unsigned count;

	assert_int_equal(pipe(stuck.pipe), 0);
	assert_int_equal(run_in_task(executor, run_stuck, &stuck), 0);
	assert_int_equal(stuck.keeper.result, 17);
	assert_int_equal(stuck.keeper_errno, 4711);
	assert_int_equal(stuck.parks, 3);
	assert_true(stuck.keeper_is_itself);

	count = executor_pinned_events(executor, &next, events, 8);
	assert_in_range(count, 1, 8);
	assert_string_equal(events[0].task_name, "keeper");
	assert_true(events[0].is_handed_over);
	assert_int_equal(events[0].kind, kind);
	assert_true(events[0].duration_ns >= 2000000);
	executor_destroy(executor);
	close(stuck.pipe[0]);
	close(stuck.pipe[1]);
}

static void a_blocking_read_does_not_hold_up_new_tasks(void **state)
{
	(void)state;
	check_stuck(BY_READ, false, PINNED_SYSCALL);
}

static void a_blocking_read_does_not_hold_up_started_tasks(void **state)
{
	(void)state;
	check_stuck(BY_READ, true, PINNED_SYSCALL);
}

static void a_computation_does_not_hold_up_others(void **state)
{
	(void)state;
	check_stuck(BY_SPINNING, true, PINNED_CPU);
}

/* Which each task that is stuck does next; all of them rejoin. */
enum { FIRST_CALLS = 7 };

struct rejoiner {
	struct task task, child;
	int first_call;
	struct latch *hold; /* arrived at by the last one */
	atomic_uint *stuck;
	bool is_right;
};

static int nothing(struct task *task)
{
	(void)task;
	return 3;
}

static void note_called(struct carrier *carrier, void *arg)
{
	*(struct carrier **)arg = carrier;
}

static bool make_first_call(struct rejoiner *rejoiner)
{
	struct carrier *called = NULL;
	struct scope scope;

	switch (rejoiner->first_call) {
	case 0:
		task_yield();
		return true;
	case 1:
		return task_sleep_until(deadline_in_ms(1)) == 0;
	case 2:
		carrier_call(note_called, &called);
		return called == carrier_current();
	case 3:
		scope_open(&scope, &(struct scope_options){0});
		rejoiner->child = (struct task){.run = nothing};
		return scope_fork(&scope, &rejoiner->child) == 0 && scope_join(&scope) == 0 &&
		       rejoiner->child.result == 3;
	case 4:
		return latch_wait(rejoiner->hold, deadline_in_ms(60000)) == 0;
	case 5:
		carrier_call_small(note_called, &called);
		return called == carrier_current();
	default:
		return true; /* returns at once */
	}
}

/* Spins until all of them are stuck at the same time, each on a thread of its own. */
static int rejoiner_run(struct task *task)
{
	struct rejoiner *rejoiner = (struct rejoiner *)task;

	atomic_fetch_add(rejoiner->stuck, 1);
	while (atomic_load(rejoiner->stuck) < FIRST_CALLS)
		continue;
	if (rejoiner->first_call == FIRST_CALLS - 1)
		latch_arrive(rejoiner->hold);
	rejoiner->is_right = make_first_call(rejoiner);
	return rejoiner->first_call;
}

static int run_rejoiners(void *arg)
{
	struct rejoiner *rejoiners = arg;
	struct scope scope;
	atomic_uint stuck = 0;
	struct latch hold;

	latch_init(&hold, 1);
	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < FIRST_CALLS; i++) {
		rejoiners[i] = (struct rejoiner){
			.task.run = rejoiner_run, .first_call = i, .hold = &hold, .stuck = &stuck};
		(void)scope_fork(&scope, &rejoiners[i].task);
	}
	return scope_join(&scope);
}

static void whatever_a_stuck_task_calls_first_it_rejoins_its_carrier(void **state)
{
	struct rejoiner rejoiners[FIRST_CALLS];

	(void)state;
	for (int round = 0; round < 10; round++) {
		struct executor *executor = start_with_spares(FIRST_CALLS);

		assert_int_equal(run_in_task(executor, run_rejoiners, rejoiners), 0);
		executor_destroy(executor);
		for (int i = 0; i < FIRST_CALLS; i++) {
			assert_int_equal(rejoiners[i].task.result, i);
			assert_true(rejoiners[i].is_right);
		}
	}
}

/* The monitor leaves system calls alone. */
static int sleep_in_kernel(void *arg)
{
	int64_t *slept_ns = arg;
	struct timespec left = {.tv_nsec = 300000000};
	int64_t start_ns = deadline_now_ns();
	int error = nanosleep(&left, NULL);

	*slept_ns = deadline_now_ns() - start_ns;
	task_yield();
	return error;
}

static void a_system_call_is_not_cut_short(void **state)
{
	struct executor *executor = start_with_spares(2);
	int64_t slept_ns = 0;

	(void)state;
	assert_int_equal(run_in_task(executor, sleep_in_kernel, &slept_ns), 0);
	assert_true(slept_ns >= 300000000);
	executor_destroy(executor);
}

static void without_a_spare_the_others_wait_and_it_is_said(void **state)
{
	struct executor *executor = start_with_spares(0);
	struct pinned_event events[8];
	int64_t slept_ns = 0;
	uint64_t next = 0;

	(void)state;
	assert_int_equal(run_in_task(executor, sleep_in_kernel, &slept_ns), 0);
	assert_int_equal(executor_pinned_events(executor, &next, events, 8), 1);
	assert_false(events[0].is_handed_over);
	assert_int_equal(events[0].kind, PINNED_SYSCALL);
	executor_destroy(executor);
}

/* A thread that another one keeps from its CPU: pinned to the same, and asking for idle time. */
struct starving {
	pthread_t hog;
	cpu_set_t cpu;
	atomic_bool is_over;
	int64_t took_ns;
};

static void *take_cpu(void *arg)
{
	struct starving *starving = arg;

	(void)sched_setaffinity(0, sizeof(starving->cpu), &starving->cpu);
	while (!atomic_load(&starving->is_over))
		continue;
	return NULL;
}

static int64_t used_ns(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

/* Computes for a millisecond, and has to wait for it. */
static int starve(void *arg)
{
	const struct sched_param none = {0};
	struct starving *starving = arg;
	int64_t began_ns = deadline_now_ns(), until_ns;
	cpu_set_t before;

	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return -errno;
	CPU_ZERO(&starving->cpu);
	CPU_SET(sched_getcpu(), &starving->cpu);
	if (pthread_create(&starving->hog, NULL, take_cpu, starving) != 0)
		return -EAGAIN;
	(void)sched_setaffinity(0, sizeof(starving->cpu), &starving->cpu);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	until_ns = used_ns() + 1000000;
	while (used_ns() < until_ns)
		continue;
	starving->took_ns = deadline_now_ns() - began_ns;
	(void)sched_setscheduler(0, SCHED_OTHER, &none);
	(void)sched_setaffinity(0, sizeof(before), &before);
	return 0;
}

static void a_task_that_waits_for_a_cpu_is_not_pinned(void **state)
{
	struct executor_options options = options_for(1);
	struct starving starving = {.took_ns = 0};
	struct pinned_event events[8];
	struct executor *executor;
	uint64_t next = 0;

	(void)state;
	options.threads = 1;
	options.max_tasks = 1000;
	options.spare_drivers = 4;
	options.pinned_threshold_ms = 40;
	executor = start_executor_with(&options);
	assert_int_equal(run_in_task(executor, starve, &starving), 0);
	atomic_store(&starving.is_over, true);
	assert_int_equal(pthread_join(starving.hog, NULL), 0);
	/* With a CPU to itself it would have taken one millisecond, and shown nothing. */
	if (starving.took_ns < 80000000)
		print_message("# it did not have to wait: %d us\n", (int)(starving.took_ns / 1000));
	assert_int_equal(executor_pinned_events(executor, &next, events, 8), 0);
	executor_destroy(executor);
}

/* Tasks of a kind that keeps carriers, again and again. */
enum { BLOCKERS = 40, BLOCKS = 3 };

static int block_and_park(struct task *task)
{
	const struct timespec block = {.tv_nsec = 10000000};
	int wrong = 0;

	for (int i = 1; i <= BLOCKS; i++) {
		(void)nanosleep(&block, NULL);
		errno = i;
		wrong += task_park(deadline_in_ns(100000)) != -ETIMEDOUT;
		wrong += errno != i || task_current() != task;
	}
	return wrong;
}

static int run_blockers(void *arg)
{
	struct task *blockers = arg;
	struct scope scope;
	int wrong = 0;

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < BLOCKERS; i++) {
		blockers[i] = (struct task){.run = block_and_park, .name = "blocker"};
		wrong += scope_fork(&scope, &blockers[i]) != 0;
	}
	wrong += scope_join(&scope) != 0;
	for (int i = 0; i < BLOCKERS; i++)
		wrong += blockers[i].result;
	return wrong;
}

static void tasks_of_a_heavy_kind_run_beside_their_carrier(void **state)
{
	struct executor *executor = start_with_spares(64);
	struct task blockers[BLOCKERS];
	struct executor_stats stats;

	(void)state;
	assert_int_equal(run_in_task(executor, run_blockers, blockers), 0);
	executor_stats(executor, &stats);
	/* Most of the 120 blocks did not take the carrier from anybody: two were needed to learn
	 * what kind it is, some find no room beside it. */
	assert_in_range(stats.pinned[PINNED_SYSCALL], 2, BLOCKERS * BLOCKS / 2);
	assert_int_equal(stats.live, 0);
	executor_destroy(executor);
}

/* Blockers that stay: each waits for the end of a pipe. */
enum { STAYERS = 60, STAYERS_SEEN = 32, STAYERS_AT_ONCE = 26 };

struct stayers {
	struct task tasks[STAYERS];
	int pipe[2];
	atomic_int started;
	int64_t took_ns; /* until STAYERS_SEEN had started */
};

static struct stayers stayers;

static int stay(struct task *task)
{
	char byte;

	(void)task;
	atomic_fetch_add(&stayers.started, 1);
	return (int)read(stayers.pipe[0], &byte, 1);
}

static int run_stayers(void *arg)
{
	int64_t start_ns = deadline_now_ns();
	struct scope scope;
	int wrong = 0;

	(void)arg;
	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < STAYERS; i++) {
		stayers.tasks[i] = (struct task){.run = stay, .name = "stayer"};
		wrong += scope_fork(&scope, &stayers.tasks[i]) != 0;
	}
	while (atomic_load(&stayers.started) < STAYERS_SEEN)
		wrong += task_sleep_until(deadline_in_ms(1)) != 0;
	stayers.took_ns = deadline_now_ns() - start_ns;
	close(stayers.pipe[1]);
	return wrong + scope_join(&scope);
}

/* At most 8 start before their kind is known, 16 find room beside the carrier; the others get the
 * carrier one by one, 50 ms apart, so that tasks of other kinds have it in between. */
static void without_room_beside_the_carrier_a_heavy_kind_starts_slowly(void **state)
{
	struct executor *executor = start_with_spares(100);

	(void)state;
	assert_int_equal(pipe(stayers.pipe), 0);
	assert_int_equal(run_in_task(executor, run_stayers, NULL), 0);
	executor_destroy(executor);
	close(stayers.pipe[0]);
	assert_true(stayers.took_ns >= (STAYERS_SEEN - STAYERS_AT_ONCE) * INT64_C(50000000));
}

/* A carrier does not stop while one of its tasks is elsewhere. */
struct resized {
	struct executor *executor;
	struct task task;
	struct countdown over;
	atomic_bool is_stuck, go;
};

static int spin_until_go(struct task *task)
{
	struct resized *resized = (struct resized *)((char *)task - offsetof(struct resized, task));

	atomic_store(&resized->is_stuck, true);
	while (!atomic_load(&resized->go))
		continue;
	return task_sleep_until(deadline_in_ms(1));
}

static void count_resized(struct task *task)
{
	countdown_arrive(
		&((struct resized *)((char *)task - offsetof(struct resized, task)))->over);
}

static void a_carrier_retires_only_after_its_stuck_tasks(void **state)
{
	struct executor_options options = options_for(1);
	struct resized resized[4];

	(void)state;
	options.threads = 4;
	options.spare_drivers = 8;
	options.max_tasks = 100;
	options.pinned_threshold_ms = 2;
	for (int i = 0; i < 4; i++) {
		resized[i] = (struct resized){
			.executor = i ? resized[0].executor : start_executor_with(&options),
			.task = {.run = spin_until_go, .done = count_resized}};
		countdown_init(&resized[i].over, 1);
		assert_int_equal(executor_submit(resized[0].executor, &resized[i].task), 0);
	}
	for (int i = 0; i < 4; i++)
		while (!atomic_load(&resized[i].is_stuck))
			sched_yield();
	assert_int_equal(executor_resize(resized[0].executor, 1), 0);
	for (int i = 0; i < 4; i++) {
		atomic_store(&resized[i].go, true);
		countdown_wait(&resized[i].over);
		assert_int_equal(resized[i].task.result, 0);
		countdown_finish(&resized[i].over);
	}
	assert_int_equal(executor_resize(resized[0].executor, 3), 0);
	executor_destroy(resized[0].executor);
}

int main(int argc, char **argv)
{
#define ON_CARRIERS(name) cmocka_unit_test_prestate(name, "coroutine")
	const struct CMUnitTest tests[] = {
		ON_CARRIERS(a_blocking_read_does_not_hold_up_new_tasks),
		ON_CARRIERS(a_blocking_read_does_not_hold_up_started_tasks),
		ON_CARRIERS(a_computation_does_not_hold_up_others),
		ON_CARRIERS(whatever_a_stuck_task_calls_first_it_rejoins_its_carrier),
		ON_CARRIERS(tasks_of_a_heavy_kind_run_beside_their_carrier),
		ON_CARRIERS(without_room_beside_the_carrier_a_heavy_kind_starts_slowly),
		ON_CARRIERS(a_system_call_is_not_cut_short),
		ON_CARRIERS(without_a_spare_the_others_wait_and_it_is_said),
		ON_CARRIERS(a_task_that_waits_for_a_cpu_is_not_pinned),
		ON_CARRIERS(a_carrier_retires_only_after_its_stuck_tasks),
	};
#undef ON_CARRIERS

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
