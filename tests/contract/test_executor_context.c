#include <errno.h>
#include <string.h>

#include "executors/scope.h"
#include "executors/task_context.h"
#include "tests/contract/over_executor.h"

/* What is bound for a call: who sees it, and how long. */

static const struct task_key request_id = {"request id"};
static const struct task_key trace_id = {"trace id"};

enum { DEPTH = 3, BREADTH = 4 };

/* Compares with what it expects to be bound. */
struct reader {
	struct task task;
	const char *request_id, *trace_id;
};

static bool is_bound(const struct task_key *key, const char *expected)
{
	const char *value = task_context_get(key);

	return value && expected ? strcmp(value, expected) == 0 : value == expected;
}

static int read_both(struct task *task)
{
	struct reader *reader = (struct reader *)task;

	if (!is_bound(&request_id, reader->request_id) || !is_bound(&trace_id, reader->trace_id))
		return -EPROTO;
	return 0;
}

static int reads(const char *expected_request_id, const char *expected_trace_id)
{
	struct reader reader = {.request_id = expected_request_id, .trace_id = expected_trace_id};

	return read_both(&reader.task);
}

static int child_reads(const char *expected_request_id, const char *expected_trace_id)
{
	struct reader child = {
		.task.run = read_both,
		.request_id = expected_request_id,
		.trace_id = expected_trace_id,
	};
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	error = scope_fork(&scope, &child.task);
	return error | scope_join(&scope);
}

static int nothing_is_there(void *arg)
{
	(void)arg;
	return reads(NULL, NULL) | child_reads(NULL, NULL);
}

static void nothing_is_bound_at_first(void **state)
{
	struct executor *executor = start_executor(2);

	(void)state;
	assert_int_equal(run_in_task(executor, nothing_is_there, NULL), 0);
	executor_destroy(executor);
}

static int see_the_inner_one(void *arg)
{
	(void)arg;
	return reads("inner", "trace") | child_reads("inner", "trace");
}

static int bind_the_inner_one(void *arg)
{
	struct task_binding inner = {.key = &request_id, .value = "inner"};
	int error = reads("outer", "trace") | child_reads("outer", "trace");

	error |= task_with_context(&inner, see_the_inner_one, arg);
	return error | reads("outer", "trace") | child_reads("outer", "trace");
}

static int bind_the_trace(void *arg)
{
	struct task_binding trace = {.key = &trace_id, .value = "trace"};

	return reads("outer", NULL) | task_with_context(&trace, bind_the_inner_one, arg);
}

static int bind_the_outer_one(void *arg)
{
	struct task_binding outer = {.key = &request_id, .value = "outer"};
	int error = task_with_context(&outer, bind_the_trace, arg);

	return error | nothing_is_there(arg);
}

static void a_binding_holds_for_its_call_and_hides_an_outer_one(void **state)
{
	struct executor *executor = start_executor(2);

	(void)state;
	assert_int_equal(run_in_task(executor, bind_the_outer_one, NULL), 0);
	executor_destroy(executor);
}

static int return_the_argument(void *arg)
{
	return *(const int *)arg;
}

static int bind_for_a_result(void *arg)
{
	struct task_binding binding = {.key = &request_id, .value = "id"};

	return task_with_context(&binding, return_the_argument, arg);
}

static void the_call_s_result_is_passed_on(void **state)
{
	struct executor *executor = start_executor(1);
	int result = -EIO;

	(void)state;
	assert_int_equal(run_in_task(executor, bind_for_a_result, &result), -EIO);
	executor_destroy(executor);
}

/* A tree of tasks, each with a trace id of its own, and the request id of the root. */
struct node {
	struct task task;
	int depth;
};

static int node_run(struct task *task);

static int fork_below(void *arg)
{
	const struct node *node = arg;
	struct node below[BREADTH];
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (int i = 0; i < BREADTH; i++) {
		below[i] = (struct node){.task.run = node_run, .depth = node->depth - 1};
		error |= scope_fork(&scope, &below[i].task);
	}
	error |= scope_join(&scope);
	return task_context_get(&trace_id) == node ? error : -EPROTO;
}

static int node_run(struct task *task)
{
	struct node *node = (struct node *)task;
	struct task_binding trace = {.key = &trace_id, .value = node};

	if (!is_bound(&request_id, "root's"))
		return -EPROTO;
	task_yield();
	return node->depth == 0 ? 0 : task_with_context(&trace, fork_below, node);
}

static int run_root(void *arg)
{
	return node_run(arg);
}

static int run_tree(void *arg)
{
	struct task_binding binding = {.key = &request_id, .value = "root's"};
	struct node root = {.depth = DEPTH};

	(void)arg;
	return task_with_context(&binding, run_root, &root.task);
}

static void every_task_below_inherits_and_binds_for_itself(void **state)
{
	struct executor *executor = start_executor(4);

	(void)state;
	assert_int_equal(run_in_task(executor, run_tree, NULL), 0);
	executor_destroy(executor);
}

struct root {
	struct task task;
	struct countdown over;
};

static int root_run(struct task *task)
{
	(void)task;
	return reads("submitted", NULL) | child_reads("submitted", NULL);
}

static void root_done(struct task *task)
{
	countdown_arrive(&((struct root *)task)->over);
}

static void a_root_has_what_its_submitter_bound(void **state)
{
	struct executor *executor = start_executor(2);
	struct task_binding binding = {.key = &request_id, .value = "submitted"};
	struct root root = {.task = {.run = root_run, .done = root_done, .context = &binding}};

	(void)state;
	countdown_init(&root.over, 1);
	assert_int_equal(executor_submit(executor, &root.task), 0);
	countdown_wait(&root.over);
	countdown_finish(&root.over);
	assert_int_equal(root.task.result, 0);
	executor_destroy(executor);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_bound_at_first),
		cmocka_unit_test(a_binding_holds_for_its_call_and_hides_an_outer_one),
		cmocka_unit_test(the_call_s_result_is_passed_on),
		cmocka_unit_test(every_task_below_inherits_and_binds_for_itself),
		cmocka_unit_test(a_root_has_what_its_submitter_bound),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
