#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "executors/latch.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* SCOPE_COLLECT: children are handed out as they return. */

enum { CHILDREN = 20, MANY = 1000 };

/* A child that returns minus its number once its latch has been counted down, or is cancelled. */
struct child {
	struct task task;
	struct latch latch;
	int number;
	atomic_bool is_waiting;
	int handed_out; /* times */
};

static int wait_for_latch(struct task *task)
{
	struct child *child = (struct child *)task;
	int error;

	atomic_store(&child->is_waiting, true);
	error = latch_wait(&child->latch, DEADLINE_NEVER);
	return error < 0 ? error : -child->number;
}

static int yield_once(struct task *task)
{
	task_yield();
	return -((struct child *)task)->number;
}

static void child_init(struct child *child, int (*run)(struct task *task), int number)
{
	*child = (struct child){.task.run = run, .number = number};
	latch_init(&child->latch, 1);
}

static int fork_all(struct scope *scope, struct child *children, unsigned count,
                    int (*run)(struct task *task))
{
	int error = 0;

	for (unsigned i = 0; i < count; i++) {
		child_init(&children[i], run, (int)i);
		error |= scope_fork(scope, &children[i].task);
	}
	return error;
}

/* Wait until every child waits, so that on a pool the parent runs none of them itself. */
static void await_all(struct child *children, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		while (!atomic_load(&children[i].is_waiting))
			(void)task_park(deadline_in_ms(1));
}

static struct child *next_child(struct scope *scope, struct deadline deadline, int *result)
{
	struct task *child = NULL;

	*result = scope_next(scope, deadline, &child);
	return (struct child *)child;
}

static int collect_as_released(void *arg)
{
	static const int order[CHILDREN] = {7,  0,  19, 3,  4,  18, 1, 2,  17, 5,
	                                    16, 15, 6,  14, 13, 8,  9, 12, 10, 11};
	struct child *children = arg;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	error = fork_all(&scope, children, CHILDREN, wait_for_latch);
	await_all(children, CHILDREN);
	for (int i = 0; i < CHILDREN; i++) {
		const struct child *child;

		latch_arrive(&children[order[i]].latch);
		child = next_child(&scope, DEADLINE_NEVER, &result);
		if (result != 1 || child != &children[order[i]] ||
		    child->task.result != -child->number)
			error = -EPROTO;
	}
	for (int i = 0; i < 2; i++)
		if (next_child(&scope, DEADLINE_NEVER, &result) || result != 0)
			error = -EPROTO;
	return scope_join(&scope) | error;
}

static void run_with_children(unsigned threads, int (*fn)(void *arg), int expected)
{
	struct executor *executor = start_executor(threads);
	struct child *children = calloc(MANY, sizeof(*children));

	assert_non_null(children);
	assert_int_equal(run_in_task(executor, fn, children), expected);
	executor_destroy(executor);
	free(children);
}

static void children_come_in_the_order_of_their_return(void **state)
{
	(void)state;
	run_with_children(CHILDREN + 1, collect_as_released, 0);
}

/* Children that have returned before anybody asks are kept in that order. */
static int collect_late(void *arg)
{
	struct child *children = arg;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT, .max_parallel = 1});
	error = fork_all(&scope, children, CHILDREN, yield_once);
	for (int i = 0; i < CHILDREN; i++)
		if (next_child(&scope, DEADLINE_NEVER, &result) != &children[i] || result != 1)
			error = -EPROTO;
	return scope_join(&scope) | error;
}

static void one_at_a_time_they_come_as_forked(void **state)
{
	(void)state;
	run_with_children(4, collect_late, 0);
}

static int collect_many(void *arg)
{
	struct child *children = arg, *child;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	error = fork_all(&scope, children, MANY, yield_once);
	while ((child = next_child(&scope, DEADLINE_NEVER, &result)))
		child->handed_out++;
	for (int i = 0; i < MANY; i++)
		if (children[i].handed_out != 1 || children[i].task.result != -i)
			error = -EPROTO;
	return result | scope_join(&scope) | error;
}

static void each_is_handed_out_once(void **state)
{
	(void)state;
	run_with_children(4, collect_many, 0);
}

static void one_thread_is_enough(void **state)
{
	(void)state;
	run_with_children(1, collect_many, 0);
}

/* Four children that are forked again each time they are handed out. */
static int fork_again(void *arg)
{
	struct child *children = arg, *child;
	unsigned forked = 4, collected = 0;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	error = fork_all(&scope, children, forked, yield_once);
	while ((child = next_child(&scope, DEADLINE_NEVER, &result))) {
		collected++;
		if (forked == MANY)
			continue;
		child_init(child, yield_once, (int)forked++);
		error |= scope_fork(&scope, &child->task);
	}
	if (collected != MANY)
		error = -EPROTO;
	return result | scope_join(&scope) | error;
}

static void a_child_handed_out_can_be_forked_again(void **state)
{
	(void)state;
	run_with_children(3, fork_again, 0);
}

static int collect_with_a_deadline(void *arg)
{
	struct child *children = arg;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	error = fork_all(&scope, children, 2, wait_for_latch);
	await_all(children, 2);
	if (next_child(&scope, deadline_in_ms(5), &result) || result != -ETIMEDOUT)
		error = -EPROTO;
	latch_arrive(&children[1].latch);
	if (next_child(&scope, DEADLINE_NEVER, &result) != &children[1] || result != 1)
		error = -EPROTO;
	if (next_child(&scope, deadline_in_ms(-1), &result) || result != -ETIMEDOUT)
		error = -EPROTO;
	latch_arrive(&children[0].latch);
	if (next_child(&scope, DEADLINE_NEVER, &result) != &children[0] || result != 1)
		error = -EPROTO;
	return scope_join(&scope) | error;
}

static void waiting_for_the_next_has_a_deadline(void **state)
{
	(void)state;
	run_with_children(3, collect_with_a_deadline, 0);
}

static int collect_what_is_cut_off(void *arg)
{
	struct child *children = arg, *child;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){
				   .policy = SCOPE_COLLECT,
				   .max_parallel = 3,
				   .deadline = deadline_in_ms(20),
			   });
	error = fork_all(&scope, children, CHILDREN, wait_for_latch);
	while ((child = next_child(&scope, DEADLINE_NEVER, &result))) {
		child->handed_out++;
		if (child->task.result != -ECANCELED)
			error = -EPROTO;
	}
	for (int i = 0; i < CHILDREN; i++)
		if (children[i].handed_out != 1)
			error = -EPROTO;
	result |= scope_join(&scope);
	return error ? error : result;
}

static void after_the_deadline_the_rest_is_handed_out(void **state)
{
	(void)state;
	run_with_children(4, collect_what_is_cut_off, -ETIMEDOUT);
	run_with_children(1, collect_what_is_cut_off, -ETIMEDOUT);
}

/* There is always a child to be handed out, and none of them looks at the time. */
static int fork_until_the_deadline(void *arg)
{
	struct child *children = arg, *child;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){
				   .policy = SCOPE_COLLECT,
				   .deadline = deadline_in_ms(30),
			   });
	error = fork_all(&scope, children, 4, yield_once);
	while ((child = next_child(&scope, DEADLINE_NEVER, &result))) {
		child_init(child, yield_once, 0);
		(void)scope_fork(&scope, &child->task);
	}
	result |= scope_join(&scope);
	return error ? error : result;
}

static void the_deadline_holds_however_many_return(void **state)
{
	(void)state;
	run_with_children(4, fork_until_the_deadline, -ETIMEDOUT);
	run_with_children(1, fork_until_the_deadline, -ETIMEDOUT);
}

static int join_without_collecting(void *arg)
{
	struct child *children = arg;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	error = fork_all(&scope, children, MANY, yield_once);
	if (!next_child(&scope, DEADLINE_NEVER, &result))
		error = -EPROTO;
	error |= scope_join(&scope);
	for (int i = 0; i < MANY; i++)
		if (children[i].task.result != -i)
			error = -EPROTO;
	return error;
}

static void a_join_needs_no_collecting(void **state)
{
	(void)state;
	run_with_children(4, join_without_collecting, 0);
}

/* The token of the parent is fired while it collects. */
struct outer {
	struct task task;
	struct child *children;
	struct countdown has_begun, over;
	int collected;
};

static int collect_until_cancelled(struct task *task)
{
	struct outer *outer = (struct outer *)task;
	struct scope scope;
	int result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT, .max_parallel = 5});
	(void)fork_all(&scope, outer->children, CHILDREN, wait_for_latch);
	countdown_arrive(&outer->has_begun);
	while (next_child(&scope, DEADLINE_NEVER, &result))
		outer->collected++;
	return scope_join(&scope);
}

static void outer_done(struct task *task)
{
	countdown_arrive(&((struct outer *)task)->over);
}

static void cancelling_the_parent_hands_out_all(void **state)
{
	struct executor *executor = start_executor(7);
	struct outer outer = {.task = {.run = collect_until_cancelled, .done = outer_done}};
	struct cancel cancel;

	(void)state;
	outer.children = calloc(CHILDREN, sizeof(*outer.children));
	assert_non_null(outer.children);
	cancel_init(&cancel, NULL);
	outer.task.cancel = &cancel;
	countdown_init(&outer.has_begun, 1);
	countdown_init(&outer.over, 1);
	assert_int_equal(executor_submit(executor, &outer.task), 0);
	countdown_wait(&outer.has_begun);
	cancel_fire(&cancel, CANCEL_CLIENT_GONE);
	countdown_wait(&outer.over);
	executor_destroy(executor);
	assert_int_equal(outer.task.result, -ECANCELED);
	assert_int_equal(outer.collected, CHILDREN);
	for (int i = 0; i < CHILDREN; i++)
		assert_int_equal(outer.children[i].task.result, -ECANCELED);
	countdown_finish(&outer.has_begun);
	countdown_finish(&outer.over);
	cancel_finish(&cancel);
	free(outer.children);
}

/* The first child waits until the second has been handed out: nothing comes of it if the parent,
 * who is to see to both, runs it itself. */
static int collect_beside_a_long_one(void *arg)
{
	struct child *children = arg;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT,
	                                           .deadline = deadline_in_ms(10000)});
	child_init(&children[0], wait_for_latch, 0);
	child_init(&children[1], yield_once, 1);
	error = scope_fork(&scope, &children[0].task);
	error |= scope_fork(&scope, &children[1].task);
	if (next_child(&scope, DEADLINE_NEVER, &result) != &children[1])
		error = -EPROTO;
	latch_arrive(&children[0].latch);
	if (next_child(&scope, DEADLINE_NEVER, &result) != &children[0])
		error = -EPROTO;
	return scope_join(&scope) | error;
}

static void a_parent_leaves_its_children_to_threads_that_are_free(void **state)
{
	(void)state;
	run_with_children(3, collect_beside_a_long_one, 0);
}

/* A root task that keeps a thread until its latch has been counted down. */
struct guest {
	struct task task;
	struct latch latch;
	struct countdown over;
};

static int keep_thread(struct task *task)
{
	return latch_wait(&((struct guest *)task)->latch, DEADLINE_NEVER);
}

static void guest_is_done(struct task *task)
{
	countdown_arrive(&((struct guest *)task)->over);
}

struct crowd {
	struct executor *executor;
	struct guest guest;
};

/* Of two threads the parent has one. The other is free when the parent looks, but the guest comes
 * before the child. */
static int collect_beside_a_guest(void *arg)
{
	struct crowd *crowd = arg;
	struct child child;
	struct scope scope;
	int error, result;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	child_init(&child, yield_once, 1);
	error = executor_submit(crowd->executor, &crowd->guest.task);
	error |= scope_fork(&scope, &child.task);
	do
		(void)next_child(&scope, deadline_in_ms(5), &result);
	while (result == -ETIMEDOUT);
	latch_arrive(&crowd->guest.latch);
	return scope_join(&scope) | error | (result == 1 ? 0 : -EPROTO);
}

static void a_child_whose_thread_is_taken_after_all_is_run_by_its_parent(void **state)
{
	struct crowd crowd = {
		.executor = start_executor(2),
		.guest.task = {.run = keep_thread, .done = guest_is_done},
	};

	(void)state;
	latch_init(&crowd.guest.latch, 1);
	countdown_init(&crowd.guest.over, 1);
	assert_int_equal(run_in_task(crowd.executor, collect_beside_a_guest, &crowd), 0);
	countdown_wait(&crowd.guest.over);
	executor_destroy(crowd.executor);
	countdown_finish(&crowd.guest.over);
}

struct parent {
	struct task task;
	struct child *children;
};

static int collect_all(struct task *task)
{
	struct child *children = ((struct parent *)task)->children;
	struct scope scope;
	int error, result, count = 0;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_COLLECT});
	error = fork_all(&scope, children, CHILDREN, yield_once);
	while (next_child(&scope, DEADLINE_NEVER, &result))
		count++;
	return scope_join(&scope) | error | (count == CHILDREN ? 0 : -EPROTO);
}

static int fill_with_parents(void *arg)
{
	struct parent parents[8];
	struct child *children = arg;
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (int i = 0; i < 8; i++) {
		parents[i] = (struct parent){.task.run = collect_all,
		                             .children = children + (size_t)i * CHILDREN};
		error |= scope_fork(&scope, &parents[i].task);
	}
	return scope_join(&scope) | error;
}

/* Each sees threads that are free at first, and nobody is left for them in the end. */
static void parents_that_take_all_threads_get_done(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++)
		run_with_children(4, fill_with_parents, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_come_in_the_order_of_their_return),
		cmocka_unit_test(one_at_a_time_they_come_as_forked),
		cmocka_unit_test(each_is_handed_out_once),
		cmocka_unit_test(one_thread_is_enough),
		cmocka_unit_test(a_child_handed_out_can_be_forked_again),
		cmocka_unit_test(waiting_for_the_next_has_a_deadline),
		cmocka_unit_test(after_the_deadline_the_rest_is_handed_out),
		cmocka_unit_test(the_deadline_holds_however_many_return),
		cmocka_unit_test(a_join_needs_no_collecting),
		cmocka_unit_test(cancelling_the_parent_hands_out_all),
		cmocka_unit_test(a_parent_leaves_its_children_to_threads_that_are_free),
		cmocka_unit_test(a_child_whose_thread_is_taken_after_all_is_run_by_its_parent),
		cmocka_unit_test(parents_that_take_all_threads_get_done),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
