#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "executors/latch.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Scopes: fork, join, limits, and who is started when. */

enum { CHILDREN = 1000 };

/* How many run now, and the most that ever did. */
struct gauge {
	atomic_int now, peak;
};

static void gauge_enter(struct gauge *gauge)
{
	int now = atomic_fetch_add(&gauge->now, 1) + 1;
	int peak = atomic_load(&gauge->peak);

	while (now > peak && !atomic_compare_exchange_weak(&gauge->peak, &peak, now))
		continue;
}

static void gauge_leave(struct gauge *gauge)
{
	atomic_fetch_sub(&gauge->now, 1);
}

/* A child that yields once, and returns minus its number. */
struct child {
	struct task task;
	struct gauge *gauge;
	int number;
	int fork_error;
	int runs;
};

static int child_run(struct task *task)
{
	struct child *child = (struct child *)task;

	child->runs++;
	gauge_enter(child->gauge);
	task_yield();
	gauge_leave(child->gauge);
	return -child->number;
}

struct family {
	unsigned count, max_parallel;
	struct gauge gauge;
	struct child children[CHILDREN];
};

static int fork_family(void *arg)
{
	struct family *family = arg;
	struct scope scope;

	scope_open(&scope, &(struct scope_options){.max_parallel = family->max_parallel});
	for (unsigned i = 0; i < family->count; i++) {
		struct child *child = &family->children[i];

		*child = (struct child){
			.task = {.run = child_run}, .gauge = &family->gauge, .number = (int)i};
		child->fork_error = scope_fork(&scope, &child->task);
	}
	return scope_join(&scope);
}

static void assert_all_ran(struct family *family)
{
	for (unsigned i = 0; i < family->count; i++) {
		assert_int_equal(family->children[i].fork_error, 0);
		assert_int_equal(family->children[i].runs, 1);
		assert_int_equal(family->children[i].task.result, -(int)i);
	}
	assert_int_equal(family->gauge.now, 0);
}

static void run_families(unsigned threads, unsigned count, unsigned max_parallel, int rounds)
{
	struct family *family = calloc(1, sizeof(*family));
	struct executor *executor = start_executor(threads);

	assert_non_null(family);
	for (int round = 0; round < rounds; round++) {
		*family = (struct family){.count = count, .max_parallel = max_parallel};
		assert_int_equal(run_in_task(executor, fork_family, family), 0);
		assert_all_ran(family);
		if (max_parallel)
			assert_in_range(family->gauge.peak, 1, max_parallel);
	}
	executor_destroy(executor);
	free(family);
}

static void scope_runs_all_children_and_keeps_their_results(void **state)
{
	(void)state;
	run_families(4, CHILDREN, 0, 1);
}

static void an_empty_scope_joins_at_once(void **state)
{
	(void)state;
	run_families(1, 0, 0, 1);
}

static void one_thread_is_enough(void **state)
{
	(void)state;
	run_families(1, CHILDREN, 0, 1);
}

static void small_scopes_again_and_again(void **state)
{
	(void)state;
	run_families(4, 3, 0, 300);
}

static void max_parallel_is_never_exceeded(void **state)
{
	(void)state;
	run_families(16, CHILDREN, 7, 1);
}

static void max_parallel_of_one_runs_children_in_turn(void **state)
{
	(void)state;
	run_families(4, 100, 1, 1);
}

/* A tree of scopes: each node forks 5 below it. */
struct node {
	struct task task;
	int depth;
	atomic_uint *leaves;
};

static int node_run(struct task *task)
{
	struct node *node = (struct node *)task;
	struct node below[5];
	struct scope scope;
	int error = 0;

	if (node->depth == 0) {
		atomic_fetch_add(node->leaves, 1);
		return 0;
	}
	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < 5; i++) {
		below[i] = (struct node){.task = {.run = node_run},
		                         .depth = node->depth - 1,
		                         .leaves = node->leaves};
		error |= scope_fork(&scope, &below[i].task);
	}
	return scope_join(&scope) | error;
}

static int run_tree(void *arg)
{
	struct node root = {.depth = 3, .leaves = arg};

	return node_run(&root.task);
}

static void scopes_nest(void **state)
{
	struct executor *executor = start_executor(4);
	atomic_uint leaves = 0;

	(void)state;
	assert_int_equal(run_in_task(executor, run_tree, &leaves), 0);
	executor_destroy(executor);
	assert_int_equal(leaves, 125);
}

enum { PARENTS = 10 };

struct parent {
	struct task task;
	struct family *family;
	struct countdown *over;
};

static int parent_run(struct task *task)
{
	return fork_family(((struct parent *)task)->family);
}

static void parent_done(struct task *task)
{
	countdown_arrive(((struct parent *)task)->over);
}

static void parents_that_fill_the_executor_complete(void **state)
{
	struct executor *executor = start_executor(PARENTS);
	struct parent parents[PARENTS];
	struct countdown over;

	(void)state;
	countdown_init(&over, PARENTS);
	for (int i = 0; i < PARENTS; i++) {
		parents[i] = (struct parent){
			.task = {.run = parent_run, .done = parent_done},
			.family = calloc(1, sizeof(struct family)),
			.over = &over,
		};
		assert_non_null(parents[i].family);
		parents[i].family->count = 20;
		assert_int_equal(executor_submit(executor, &parents[i].task), 0);
	}
	countdown_wait(&over);
	executor_destroy(executor);
	for (int i = 0; i < PARENTS; i++) {
		assert_int_equal(parents[i].task.result, 0);
		assert_all_ran(parents[i].family);
		free(parents[i].family);
	}
	countdown_finish(&over);
}

static void children_without_a_thread_end_as_refused(void **state)
{
	struct executor_options options = options_for(1);
	struct family *family = calloc(1, sizeof(*family));
	struct executor *executor;
	unsigned ran = 0;

	(void)state;
	assert_non_null(family);
	options.max_threads = 1 + 5;
	executor = start_executor_with(&options);
	*family = (struct family){.count = 500};
	assert_int_equal(run_in_task(executor, fork_family, family), 0);
	executor_destroy(executor);
	for (int i = 0; i < 500; i++) {
		struct child *child = &family->children[i];

		assert_int_equal(child->fork_error, 0);
		assert_int_equal(child->task.result, child->runs ? -i : -EAGAIN);
		ran += (unsigned)child->runs;
	}
	assert_in_range(ran, 5, 500);
	assert_in_range(family->gauge.peak, 1, 5);
	free(family);
}

static void caller_runs_and_wait_lose_no_child(void **state)
{
	static const enum when_full policies[] = {WHEN_FULL_CALLER_RUNS, WHEN_FULL_WAIT};
	struct family *family = calloc(1, sizeof(*family));

	(void)state;
	assert_non_null(family);
	for (int i = 0; i < 2; i++) {
		struct executor_options options = options_for(3);
		struct executor *executor;

		options.max_tasks = 4;
		options.when_full = policies[i];
		executor = start_executor_with(&options);
		*family = (struct family){.count = CHILDREN};
		assert_int_equal(run_in_task(executor, fork_family, family), 0);
		executor_destroy(executor);
		assert_all_ran(family);
		/* The parent runs one at a time itself, two other threads are left. */
		assert_in_range(family->gauge.peak, 1, 3);
	}
	free(family);
}

static void policies_hold_without_any_child_admitted(void **state)
{
	static const enum when_full policies[] = {WHEN_FULL_CALLER_RUNS, WHEN_FULL_WAIT};
	struct family *family = calloc(1, sizeof(*family));

	(void)state;
	assert_non_null(family);
	for (int i = 0; i < 2; i++) {
		struct executor_options options = options_for(2);
		struct executor *executor;

		options.max_tasks = 1;
		options.when_full = policies[i];
		executor = start_executor_with(&options);
		*family = (struct family){.count = 50};
		assert_int_equal(run_in_task(executor, fork_family, family), 0);
		executor_destroy(executor);
		assert_all_ran(family);
		assert_int_equal(family->gauge.peak, 1);
	}
	free(family);
}

/*
 * Fair start: a big scope has filled the queue when a small one comes. Both are
 * made of children that burn CPU, so that starting is what they compete for.
 */
struct contest {
	atomic_bool small_has_come;
	atomic_uint big_ended;
	unsigned big_ended_at_small_end;
	struct countdown big_is_running, over;
};

struct burner {
	struct task task;
	struct contest *contest;
	bool is_big;
};

static void burn_100_us(void)
{
	struct timespec start, now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 100000);
}

static int burner_run(struct task *task)
{
	struct burner *burner = (struct burner *)task;

	/* The first ones keep every carrier until the small scope has been submitted. */
	while (!atomic_load(&burner->contest->small_has_come))
		sched_yield();
	burn_100_us();
	if (burner->is_big)
		atomic_fetch_add(&burner->contest->big_ended, 1);
	return 0;
}

struct contestant {
	struct task task;
	struct contest *contest;
	unsigned count;
	struct burner children[CHILDREN];
};

static int contestant_run(struct task *task)
{
	struct contestant *contestant = (struct contestant *)task;
	struct contest *contest = contestant->contest;
	bool is_big = contestant->count == CHILDREN;
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){0});
	for (unsigned i = 0; i < contestant->count; i++) {
		contestant->children[i] = (struct burner){
			.task = {.run = burner_run}, .contest = contest, .is_big = is_big};
		(void)scope_fork(&scope, &contestant->children[i].task);
	}
	if (is_big)
		countdown_arrive(&contest->big_is_running);
	error = scope_join(&scope);
	if (!is_big)
		contest->big_ended_at_small_end = atomic_load(&contest->big_ended);
	return error;
}

static void contestant_done(struct task *task)
{
	countdown_arrive(&((struct contestant *)task)->contest->over);
}

static struct contestant *make_contestant(struct contest *contest, unsigned count)
{
	struct contestant *contestant = calloc(1, sizeof(*contestant));

	assert_non_null(contestant);
	contestant->task.run = contestant_run;
	contestant->task.done = contestant_done;
	contestant->contest = contest;
	contestant->count = count;
	return contestant;
}

static void a_big_scope_does_not_hold_up_a_small_one(void **state)
{
	struct executor *executor = start_executor(4);
	struct contest contest = {0};
	struct contestant *big = make_contestant(&contest, CHILDREN);
	struct contestant *small = make_contestant(&contest, 10);

	(void)state;
	countdown_init(&contest.big_is_running, 1);
	countdown_init(&contest.over, 2);
	assert_int_equal(executor_submit(executor, &big->task), 0);
	countdown_wait(&contest.big_is_running);
	assert_int_equal(executor_submit(executor, &small->task), 0);
	atomic_store(&contest.small_has_come, true);
	countdown_wait(&contest.over);
	executor_destroy(executor);
	assert_int_equal(big->task.result, 0);
	assert_int_equal(small->task.result, 0);
	assert_int_equal(contest.big_ended, CHILDREN);
	/* The thread executor starts all at once, and so has nothing to be fair about. */
	if (strcmp(executor_under_test, "thread") != 0)
		assert_in_range(contest.big_ended_at_small_end, 0, CHILDREN / 2);
	free(big);
	free(small);
	countdown_finish(&contest.big_is_running);
	countdown_finish(&contest.over);
}

/* Scopes, one after another, while the number of carriers changes. */
static void resizing_under_load_loses_nothing(void **state)
{
	struct executor *executor = start_executor(8);
	struct parent parents[PARENTS];

	(void)state;
	for (int i = 0; i < PARENTS; i++) {
		parents[i].family = calloc(1, sizeof(struct family));
		assert_non_null(parents[i].family);
	}
	for (int round = 0; round < 20; round++) {
		static const unsigned carriers[] = {4, 1, 3, 2};
		struct countdown over;

		countdown_init(&over, PARENTS);
		for (int i = 0; i < PARENTS; i++) {
			*parents[i].family = (struct family){.count = 50};
			parents[i].task = (struct task){.run = parent_run, .done = parent_done};
			parents[i].over = &over;
			assert_int_equal(executor_submit(executor, &parents[i].task), 0);
		}
		assert_int_equal(executor_resize(executor, carriers[round % 4]), 0);
		countdown_wait(&over);
		for (int i = 0; i < PARENTS; i++)
			assert_all_ran(parents[i].family);
		countdown_finish(&over);
	}
	executor_destroy(executor);
	for (int i = 0; i < PARENTS; i++)
		free(parents[i].family);
}

/* Two scopes are open while their parent waits for something else than its children. */
enum { FORKED_EACH = 4, FORKED = 2 * FORKED_EACH };

struct waiting_child {
	struct task task;
	struct latch may_end;
};

struct waiting_parent {
	struct task task;
	struct latch may_end;
	struct waiting_child children[FORKED];
	int fork_errors;
	struct countdown over;
};

static int wait_for_the_end(struct task *task)
{
	return latch_wait(&((struct waiting_child *)task)->may_end, DEADLINE_NEVER);
}

static void fork_waiting(struct waiting_parent *parent, struct scope *scope, int first)
{
	for (int i = first; i < first + FORKED_EACH; i++) {
		struct waiting_child *child = &parent->children[i];

		*child = (struct waiting_child){.task.run = wait_for_the_end};
		latch_init(&child->may_end, 1);
		parent->fork_errors += scope_fork(scope, &child->task) < 0;
	}
}

static int fork_and_wait_for_something_else(struct task *task)
{
	struct waiting_parent *parent = (struct waiting_parent *)task;
	struct scope outer, inner;

	scope_open(&outer, &(struct scope_options){0});
	fork_waiting(parent, &outer, 0);
	scope_open(&inner, &(struct scope_options){0});
	fork_waiting(parent, &inner, FORKED_EACH);
	parent->fork_errors += latch_wait(&parent->may_end, DEADLINE_NEVER) < 0;
	return scope_join(&inner) < 0 || scope_join(&outer) < 0;
}

static void waiting_parent_done(struct task *task)
{
	countdown_arrive(&((struct waiting_parent *)task)->over);
}

static void a_parent_that_waits_has_counted_its_forks_and_no_more(void **state)
{
	struct executor *executor = start_executor(1 + FORKED);
	struct waiting_parent parent = {
		.task = {.run = fork_and_wait_for_something_else, .done = waiting_parent_done},
	};
	struct executor_stats stats, waiting;

	(void)state;
	countdown_init(&parent.over, 1);
	latch_init(&parent.may_end, 1);
	assert_int_equal(executor_submit(executor, &parent.task), 0);
	do {
		sched_yield();
		executor_stats(executor, &stats);
	} while (stats.parked < 1 + FORKED);
	executor_stats(executor, &waiting); /* it does not read all at once */
	for (int i = 0; i < FORKED; i++)
		latch_arrive(&parent.children[i].may_end);
	latch_arrive(&parent.may_end);
	countdown_wait(&parent.over);
	executor_stats(executor, &stats);
	executor_destroy(executor);
	assert_int_equal(waiting.live, 1 + FORKED);
	assert_int_equal(waiting.submitted, 1 + FORKED);
	assert_int_equal(stats.live, 0);
	assert_int_equal(stats.submitted, 1 + FORKED);
	assert_int_equal(parent.fork_errors, 0);
	assert_int_equal(parent.task.result, 0);
	for (int i = 0; i < FORKED; i++)
		latch_finish(&parent.children[i].may_end);
	latch_finish(&parent.may_end);
	countdown_finish(&parent.over);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scope_runs_all_children_and_keeps_their_results),
		cmocka_unit_test(an_empty_scope_joins_at_once),
		cmocka_unit_test(a_parent_that_waits_has_counted_its_forks_and_no_more),
		cmocka_unit_test(one_thread_is_enough),
		cmocka_unit_test(small_scopes_again_and_again),
		cmocka_unit_test(max_parallel_is_never_exceeded),
		cmocka_unit_test(max_parallel_of_one_runs_children_in_turn),
		cmocka_unit_test(scopes_nest),
		cmocka_unit_test(parents_that_fill_the_executor_complete),
		cmocka_unit_test_prestate(children_without_a_thread_end_as_refused, "thread"),
		cmocka_unit_test_prestate(caller_runs_and_wait_lose_no_child, "pool"),
		cmocka_unit_test_prestate(policies_hold_without_any_child_admitted, "pool"),
		cmocka_unit_test(a_big_scope_does_not_hold_up_a_small_one),
		cmocka_unit_test(resizing_under_load_loses_nothing),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
