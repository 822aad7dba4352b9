#include "executors/run_queue.h"

#include <errno.h>
#include <limits.h>

#include "executors/scope.h"
#include "tests/with_cmocka.h"

/* The queue alone: scopes are filled by hand, and nothing runs. */

enum { CHILDREN = 5 };

static struct run_queue queue;

struct filled_scope {
	struct scope scope;
	struct task children[CHILDREN];
};

static int init_queue(void **state)
{
	(void)state;
	run_queue_init(&queue);
	return 0;
}

static int finish_queue(void **state)
{
	(void)state;
	run_queue_finish(&queue);
	return 0;
}

static void fill(struct filled_scope *filled, unsigned max_parallel)
{
	struct scope *scope = &filled->scope;

	*filled = (struct filled_scope){.scope = {.max_parallel = max_parallel,
	                                          .remaining = CHILDREN,
	                                          .offered = true,
	                                          .ticket.of_scope = true}};
	cancel_init(&scope->cancel, NULL);
	scope->last = &scope->first;
	for (int i = 0; i < CHILDREN; i++) {
		filled->children[i].cancel = &scope->cancel;
		*scope->last = &filled->children[i];
		scope->last = &filled->children[i].next;
	}
}

static void empty(struct filled_scope *filled)
{
	run_queue_remove(&queue, &filled->scope.ticket);
	for (int i = 0; i < CHILDREN; i++)
		cancel_watch_remove(&filled->scope.cancel, &filled->children[i].watch);
	cancel_finish(&filled->scope.cancel);
}

static struct task *take(void)
{
	struct task *task = NULL;

	return run_queue_take(&queue, &task, 1, 1, NULL) ? task : NULL;
}

static void an_empty_queue_gives_nothing(void **state)
{
	(void)state;
	assert_null(take());
	assert_int_equal(queue.tickets, 0);
}

static void roots_come_out_in_order(void **state)
{
	struct task roots[3] = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(run_queue_push_root(&queue, &roots[i], 3), 0);
	assert_int_equal(queue.tickets, 3);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(take(), &roots[i]);
	assert_null(take());
}

static void roots_beyond_the_limit_are_refused(void **state)
{
	struct task roots[3] = {0};

	(void)state;
	assert_int_equal(run_queue_push_root(&queue, &roots[0], 2), 0);
	assert_int_equal(run_queue_push_root(&queue, &roots[1], 2), 0);
	assert_int_equal(run_queue_push_root(&queue, &roots[2], 2), -EAGAIN);
	assert_ptr_equal(take(), &roots[0]);
	assert_int_equal(run_queue_push_root(&queue, &roots[2], 2), 0);
	assert_ptr_equal(take(), &roots[1]);
	assert_ptr_equal(take(), &roots[2]);
}

static void scopes_take_turns(void **state)
{
	struct filled_scope a, b;
	struct task root = {0};

	(void)state;
	fill(&a, UINT_MAX);
	fill(&b, UINT_MAX);
	run_queue_push(&queue, &a.scope.ticket);
	run_queue_push(&queue, &b.scope.ticket);
	assert_int_equal(run_queue_push_root(&queue, &root, 1), 0);
	assert_ptr_equal(take(), &a.children[0]);
	assert_ptr_equal(take(), &b.children[0]);
	assert_ptr_equal(take(), &root);
	for (int i = 1; i < CHILDREN; i++) {
		assert_ptr_equal(take(), &a.children[i]);
		assert_ptr_equal(take(), &b.children[i]);
	}
	assert_null(take());
	assert_int_equal(queue.tickets, 0);
	assert_int_equal(a.scope.running, CHILDREN);
	assert_false(a.scope.offered);
	empty(&a);
	empty(&b);
}

static void several_are_taken_from_one_ticket(void **state)
{
	struct filled_scope a, b;
	struct task *tasks[CHILDREN + 1];

	(void)state;
	fill(&a, UINT_MAX);
	fill(&b, UINT_MAX);
	run_queue_push(&queue, &a.scope.ticket);
	run_queue_push(&queue, &b.scope.ticket);
	assert_int_equal(run_queue_take(&queue, tasks, 3, 1, NULL), 3);
	assert_ptr_equal(tasks[2], &a.children[2]);
	assert_int_equal(run_queue_take(&queue, tasks, CHILDREN + 1, 1, NULL), CHILDREN);
	assert_ptr_equal(tasks[0], &b.children[0]);
	assert_int_equal(run_queue_take(&queue, tasks, CHILDREN + 1, 1, NULL), CHILDREN - 3);
	assert_ptr_equal(tasks[0], &a.children[3]);
	empty(&a);
	empty(&b);
}

static void of_a_scope_each_taker_gets_its_share(void **state)
{
	struct filled_scope a;
	struct task *tasks[CHILDREN];
	unsigned left = CHILDREN;

	(void)state;
	fill(&a, UINT_MAX);
	run_queue_push(&queue, &a.scope.ticket);
	while (left > 0) {
		unsigned share = (left + 2) / 3;

		assert_int_equal(run_queue_take(&queue, tasks, CHILDREN, 3, NULL), share);
		left -= share;
	}
	assert_int_equal(queue.tickets, 0);
	empty(&a);
}

static void a_scope_at_its_limit_loses_its_ticket(void **state)
{
	struct filled_scope a;

	(void)state;
	fill(&a, 2);
	run_queue_push(&queue, &a.scope.ticket);
	assert_ptr_equal(take(), &a.children[0]);
	assert_true(a.scope.offered);
	assert_ptr_equal(take(), &a.children[1]);
	assert_false(a.scope.offered);
	assert_int_equal(queue.tickets, 0);
	assert_null(take());
	empty(&a);
}

static void a_cancelled_scope_gives_nothing(void **state)
{
	struct filled_scope a;
	struct task root = {0};

	(void)state;
	fill(&a, UINT_MAX);
	run_queue_push(&queue, &a.scope.ticket);
	assert_int_equal(run_queue_push_root(&queue, &root, 1), 0);
	cancel_fire(&a.scope.cancel, CANCEL_CLIENT_GONE);
	assert_ptr_equal(take(), &root);
	assert_null(take());
	assert_int_equal(queue.tickets, 0);
	empty(&a);
}

static void a_removed_ticket_is_not_served(void **state)
{
	struct filled_scope a;

	(void)state;
	fill(&a, UINT_MAX);
	run_queue_push(&queue, &a.scope.ticket);
	run_queue_remove(&queue, &a.scope.ticket);
	run_queue_remove(&queue, &a.scope.ticket);
	assert_null(take());
	assert_int_equal(queue.tickets, 0);
	empty(&a);
}

#define WITH_QUEUE(test) cmocka_unit_test_setup_teardown(test, init_queue, finish_queue)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_QUEUE(an_empty_queue_gives_nothing),
		WITH_QUEUE(roots_come_out_in_order),
		WITH_QUEUE(roots_beyond_the_limit_are_refused),
		WITH_QUEUE(scopes_take_turns),
		WITH_QUEUE(several_are_taken_from_one_ticket),
		WITH_QUEUE(of_a_scope_each_taker_gets_its_share),
		WITH_QUEUE(a_scope_at_its_limit_loses_its_ticket),
		WITH_QUEUE(a_cancelled_scope_gives_nothing),
		WITH_QUEUE(a_removed_ticket_is_not_served),
	};

	return cmocka_run_group_tests_name("run_queue", tests, NULL, NULL);
}
