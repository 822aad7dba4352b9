#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "executors/latch.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Scopes that end early or are refused children: deadlines, cancellation, a full executor. */

/* A child that waits for its latch, and stays until that has been counted down. */
struct waiting_child {
	struct task task;
	struct latch latch;
	atomic_uint *ended;
	atomic_bool has_started;
	int fork_error, error;
	enum cancel_reason reason;
	struct deadline deadline;
};

static int wait_for_latch(struct task *task)
{
	struct waiting_child *child = (struct waiting_child *)task;

	atomic_store(&child->has_started, true);
	child->deadline = task_deadline();
	child->error = latch_wait(&child->latch, DEADLINE_NEVER);
	child->reason = task_cancel_reason();
	task_yield();
	atomic_fetch_add(child->ended, 1);
	return child->error;
}

static void waiting_child_init(struct waiting_child *child, atomic_uint *ended)
{
	*child = (struct waiting_child){.task = {.run = wait_for_latch}, .ended = ended};
	latch_init(&child->latch, 1);
}

enum { WAITING = 20 };

struct waiting_family {
	struct waiting_child children[WAITING];
	atomic_uint ended;
	unsigned ended_at_join;
	struct deadline deadline;
	unsigned max_parallel;
	bool cancels;
	bool starts_each; /* before the next is forked, so that its parent cannot run it */
	int fork_error_after;
};

static int fork_waiting_family(void *arg)
{
	struct waiting_family *family = arg;
	struct waiting_child late;
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.deadline = family->deadline,
	                                           .max_parallel = family->max_parallel});
	for (int i = 0; i < WAITING; i++) {
		struct waiting_child *child = &family->children[i];

		waiting_child_init(child, &family->ended);
		child->fork_error = scope_fork(&scope, &child->task);
		while (family->starts_each && child->fork_error == 0 && !child->has_started)
			(void)task_park(deadline_in_ms(1));
	}
	if (family->cancels) {
		scope_cancel(&scope, CANCEL_SIBLING_DONE);
		waiting_child_init(&late, &family->ended);
		family->fork_error_after = scope_fork(&scope, &late.task);
	}
	error = scope_join(&scope);
	family->ended_at_join = family->ended;
	return error;
}

static void join_returns_only_after_the_last_child(void **state)
{
	struct executor *executor = start_executor(WAITING + 1);
	struct waiting_family family = {.cancels = true};

	(void)state;
	assert_int_equal(run_in_task(executor, fork_waiting_family, &family), -ECANCELED);
	executor_destroy(executor);
	assert_int_equal(family.fork_error_after, -ECANCELED);
	assert_int_equal(family.ended_at_join, family.ended);
	for (int i = 0; i < WAITING; i++) {
		assert_int_equal(family.children[i].fork_error, 0);
		assert_int_equal(family.children[i].task.result, -ECANCELED);
	}
}

static void deadline_cancels_children(void **state)
{
	struct executor *executor = start_executor(WAITING + 1);
	struct waiting_family family = {.deadline = deadline_in_ms(30)};

	(void)state;
	assert_int_equal(run_in_task(executor, fork_waiting_family, &family), -ETIMEDOUT);
	executor_destroy(executor);
	assert_int_equal(family.ended_at_join, family.ended);
	for (int i = 0; i < WAITING; i++) {
		assert_int_equal(family.children[i].task.result, -ECANCELED);
		/* On a busy machine some have not started yet. */
		if (!family.children[i].has_started)
			continue;
		assert_int_equal(family.children[i].reason, CANCEL_DEADLINE);
		assert_true(family.children[i].deadline.ns == family.deadline.ns);
	}
}

/* On a pool of one the parent itself runs a child, which waits. */
static void deadline_reaches_children_on_their_parents_thread(void **state)
{
	struct executor *executor = start_executor(1);
	struct waiting_family family = {.deadline = deadline_in_ms(30)};

	(void)state;
	assert_int_equal(run_in_task(executor, fork_waiting_family, &family), -ETIMEDOUT);
	executor_destroy(executor);
	assert_int_equal(family.ended_at_join, family.ended);
	for (int i = 0; i < WAITING; i++)
		assert_int_equal(family.children[i].task.result, -ECANCELED);
}

/* Children that keep the CPU, one after the other: they never wait, nor does who runs them. */
static atomic_int busy_runs;

static int burn_5_ms(struct task *task)
{
	int64_t end_ns = deadline_now_ns() + 5000000;

	(void)task;
	while (deadline_now_ns() < end_ns)
		continue;
	atomic_fetch_add(&busy_runs, 1);
	return 0;
}

static int fork_busy_family(void *arg)
{
	struct task *children = arg;
	struct scope scope;

	scope_open(&scope,
	           &(struct scope_options){.max_parallel = 1, .deadline = deadline_in_ms(20)});
	for (int i = 0; i < WAITING; i++) {
		children[i] = (struct task){.run = burn_5_ms};
		(void)scope_fork(&scope, &children[i]);
	}
	return scope_join(&scope);
}

static void deadline_ends_a_row_of_busy_children(void **state)
{
	struct executor *executor = start_executor(1);
	struct task children[WAITING];

	(void)state;
	busy_runs = 0;
	assert_int_equal(run_in_task(executor, fork_busy_family, children), -ETIMEDOUT);
	executor_destroy(executor);
	assert_in_range(busy_runs, 0, WAITING - 5); /* the rest was cancelled */
}

static void deadline_ends_a_fork_that_waits_for_room(void **state)
{
	struct executor_options options = options_for(3);
	struct waiting_family family = {.deadline = deadline_in_ms(30), .starts_each = true};
	struct executor *executor;

	(void)state;
	options.max_tasks = 3;
	options.when_full = WHEN_FULL_WAIT;
	executor = start_executor_with(&options);
	assert_int_equal(run_in_task(executor, fork_waiting_family, &family), -ETIMEDOUT);
	executor_destroy(executor);
	for (int i = 0; i < WAITING; i++)
		if (family.children[i].fork_error == 0)
			assert_int_equal(family.children[i].task.result, -ECANCELED);
		else
			assert_int_equal(family.children[i].fork_error, -ECANCELED);
}

static void children_that_never_started_are_canceled(void **state)
{
	struct executor *executor = start_executor(WAITING + 1);
	struct waiting_family family = {.deadline = deadline_in_ms(30), .max_parallel = 3};

	(void)state;
	assert_int_equal(run_in_task(executor, fork_waiting_family, &family), -ETIMEDOUT);
	executor_destroy(executor);
	assert_in_range(family.ended_at_join, 0, 3);
	for (int i = 0; i < WAITING; i++)
		assert_int_equal(family.children[i].task.result, -ECANCELED);
}

/* A root whose token is fired from outside while its children wait. */
struct outer {
	struct task task;
	struct waiting_family family;
	struct countdown over;
};

static int outer_run(struct task *task)
{
	return fork_waiting_family(&((struct outer *)task)->family);
}

static void outer_done(struct task *task)
{
	countdown_arrive(&((struct outer *)task)->over);
}

static void cancelling_the_parent_cancels_the_children(void **state)
{
	struct executor *executor = start_executor(WAITING + 1);

	(void)state;
	for (int round = 0; round < 30; round++) {
		struct outer outer = {.task = {.run = outer_run, .done = outer_done}};
		struct cancel cancel;

		outer.family.max_parallel = round % 2 ? 2 : 0;
		cancel_init(&cancel, NULL);
		outer.task.cancel = &cancel;
		countdown_init(&outer.over, 1);
		assert_int_equal(executor_submit(executor, &outer.task), 0);
		for (int yields = 0; yields < round; yields++)
			sched_yield();
		cancel_fire(&cancel, CANCEL_CLIENT_GONE);
		countdown_wait(&outer.over);
		assert_int_equal(outer.task.result, -ECANCELED);
		assert_int_equal(outer.family.ended_at_join, outer.family.ended);
		for (int i = 0; i < WAITING; i++)
			if (outer.family.children[i].fork_error == 0)
				assert_int_equal(outer.family.children[i].task.result, -ECANCELED);
		cancel_finish(&cancel);
		countdown_finish(&outer.over);
	}
	executor_destroy(executor);
}

static int cancel_of_sibling(struct task *task)
{
	scope_cancel(task->scope, CANCEL_SIBLING_DONE);
	return 0;
}

static int fork_one_that_cancels(void *arg)
{
	struct waiting_family *family = arg;
	struct task canceller = {.run = cancel_of_sibling};
	struct scope scope;

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < WAITING; i++) {
		waiting_child_init(&family->children[i], &family->ended);
		family->children[i].fork_error = scope_fork(&scope, &family->children[i].task);
	}
	(void)scope_fork(&scope, &canceller);
	return scope_join(&scope);
}

static void a_child_may_cancel_its_scope(void **state)
{
	struct executor *executor = start_executor(WAITING + 2);
	struct waiting_family family = {0};

	(void)state;
	assert_int_equal(run_in_task(executor, fork_one_that_cancels, &family), -ECANCELED);
	executor_destroy(executor);
	for (int i = 0; i < WAITING; i++)
		assert_int_equal(family.children[i].task.result, -ECANCELED);
}

/* Children that are refused because too many tasks are admitted. */
struct refusals {
	struct waiting_family family;
	unsigned refused;
};

static int fork_until_refused(void *arg)
{
	struct refusals *refusals = arg;
	struct waiting_family *family = &refusals->family;
	struct scope scope;

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < WAITING; i++) {
		waiting_child_init(&family->children[i], &family->ended);
		family->children[i].fork_error = scope_fork(&scope, &family->children[i].task);
		refusals->refused += family->children[i].fork_error == -EAGAIN;
	}
	for (int i = 0; i < WAITING; i++)
		latch_arrive(&family->children[i].latch);
	return scope_join(&scope);
}

static void a_full_executor_refuses_forks_and_runs_the_rest(void **state)
{
	struct executor_options options = options_for(WAITING);
	struct refusals refusals = {0};
	struct executor_stats stats;
	struct executor *executor;

	(void)state;
	options.max_tasks = 1 + 5;
	executor = start_executor_with(&options);
	assert_int_equal(run_in_task(executor, fork_until_refused, &refusals), 0);
	executor_stats(executor, &stats);
	executor_destroy(executor);
	assert_int_equal(refusals.refused, WAITING - 5);
	assert_int_equal(refusals.family.ended, 5);
	assert_int_equal(stats.refused, WAITING - 5);
	assert_int_equal(stats.submitted, 6);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join_returns_only_after_the_last_child),
		cmocka_unit_test(deadline_cancels_children),
		cmocka_unit_test(deadline_reaches_children_on_their_parents_thread),
		cmocka_unit_test(deadline_ends_a_row_of_busy_children),
		cmocka_unit_test_prestate(deadline_ends_a_fork_that_waits_for_room, "pool"),
		cmocka_unit_test(children_that_never_started_are_canceled),
		cmocka_unit_test(cancelling_the_parent_cancels_the_children),
		cmocka_unit_test(a_child_may_cancel_its_scope),
		cmocka_unit_test(a_full_executor_refuses_forks_and_runs_the_rest),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
