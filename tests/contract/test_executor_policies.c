#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* When a scope is over before its last child has returned by itself, and what its join says. */

enum { MOST = 24 };

enum behaviour {
	RETURN,             /* @result at once */
	WAIT,               /* until cancelled, and return what the wait did */
	WAIT_AND_SUCCEED,   /* the same, but return 0 */
	RETURN_IF_ALL_WAIT, /* @result, once the children that wait do */
};

struct child {
	struct task task;
	struct family *family;
	enum behaviour behaviour;
	int result;
	int fork_error;
	bool has_run;
	enum cancel_reason reason; /* at its end */
};

struct family {
	struct scope_options options;
	unsigned count, waiters; /* the first ones are those that wait */
	struct child children[MOST];
	atomic_uint waiting;
	bool forks_late; /* once more, after the scope has been cancelled */
	int late_fork_error;
	bool late_has_run;
	enum cancel_reason own_reason; /* the parent's, after the join */
};

static int child_act(struct child *child)
{
	struct family *family = child->family;
	int error = 0;

	if (child->behaviour == WAIT || child->behaviour == WAIT_AND_SUCCEED) {
		atomic_fetch_add(&family->waiting, 1);
		while (error == 0)
			error = task_park(DEADLINE_NEVER);
		return child->behaviour == WAIT ? error : 0;
	}
	while (child->behaviour == RETURN_IF_ALL_WAIT &&
	       atomic_load(&family->waiting) < family->waiters)
		(void)task_park_masked(deadline_in_ms(1));
	return child->result;
}

static int child_run(struct task *task)
{
	struct child *child = (struct child *)task;
	int result = child_act(child);

	child->has_run = true;
	child->reason = task_cancel_reason();
	return result;
}

static void fork_late(struct family *family, struct scope *scope)
{
	struct child late = {.task.run = child_run, .family = family};

	while (cancel_reason(&scope->cancel) == CANCEL_NONE)
		(void)task_park(deadline_in_ms(1));
	family->late_fork_error = scope_fork(scope, &late.task);
	family->late_has_run = late.has_run;
}

static int fork_family(void *arg)
{
	struct family *family = arg;
	struct scope scope;
	int error;

	scope_open(&scope, &family->options);
	for (unsigned i = 0; i < family->count; i++) {
		struct child *child = &family->children[i];

		child->task.run = child_run;
		child->family = family;
		child->fork_error = scope_fork(&scope, &child->task);
	}
	if (family->forks_late)
		fork_late(family, &scope);
	error = scope_join(&scope);
	family->own_reason = task_cancel_reason();
	return error;
}

static int run_family(struct family *family)
{
	struct executor *executor = start_executor(MOST + 1);
	int error = run_in_task(executor, fork_family, family);

	executor_destroy(executor);
	for (unsigned i = 0; i < family->count; i++)
		assert_true(family->children[i].fork_error == 0 ||
		            family->children[i].fork_error == -ECANCELED);
	return error;
}

static struct family *make_family(struct scope_options options)
{
	struct family *family = calloc(1, sizeof(*family));

	assert_non_null(family);
	family->options = options;
	return family;
}

static void add(struct family *family, unsigned count, enum behaviour behaviour, int result)
{
	assert_true(family->count + count <= MOST);
	for (unsigned i = 0; i < count; i++)
		family->children[family->count++] =
			(struct child){.behaviour = behaviour, .result = result};
	if (behaviour == WAIT || behaviour == WAIT_AND_SUCCEED)
		family->waiters += count;
}

static void assert_waiters_ended_by(const struct family *family, enum cancel_reason reason)
{
	for (unsigned i = 0; i < family->waiters; i++) {
		assert_true(family->children[i].has_run);
		assert_int_equal(family->children[i].reason, reason);
		assert_int_equal(family->children[i].task.result, -ECANCELED);
	}
	assert_int_equal(family->own_reason, CANCEL_NONE);
}

static void the_first_success_cancels_the_others(void **state)
{
	struct family *family = make_family((struct scope_options){.policy = SCOPE_FIRST});

	(void)state;
	add(family, 10, WAIT, 0);
	add(family, 3, RETURN, -EIO);
	add(family, 1, RETURN_IF_ALL_WAIT, 0);
	family->forks_late = true;
	assert_int_equal(run_family(family), 0);
	assert_waiters_ended_by(family, CANCEL_SIBLING_DONE);
	assert_int_equal(family->late_fork_error, -ECANCELED);
	assert_false(family->late_has_run);
	free(family);
}

static void what_has_not_started_never_does_after_a_success(void **state)
{
	struct family *family =
		make_family((struct scope_options){.policy = SCOPE_FIRST, .max_parallel = 1});

	(void)state;
	add(family, 2, RETURN, -EIO);
	add(family, 1, RETURN, 0);
	add(family, 10, WAIT, 0); /* would wait for ever */
	assert_int_equal(run_family(family), 0);
	for (unsigned i = 0; i < family->count; i++) {
		assert_int_equal(family->children[i].has_run, i < 3);
		if (i >= 3 && family->children[i].fork_error == 0)
			assert_int_equal(family->children[i].task.result, -ECANCELED);
	}
	free(family);
}

static void without_a_success_the_first_error_comes_out(void **state)
{
	struct family *family =
		make_family((struct scope_options){.policy = SCOPE_FIRST, .max_parallel = 1});

	(void)state;
	add(family, 1, RETURN, -ENOENT);
	add(family, 5, RETURN, -EIO);
	assert_int_equal(run_family(family), -ENOENT);
	for (unsigned i = 0; i < family->count; i++)
		assert_true(family->children[i].has_run);
	free(family);
}

static void the_first_failure_cancels_the_others(void **state)
{
	struct family *family = make_family((struct scope_options){.policy = SCOPE_FAIL_FAST});

	(void)state;
	add(family, 10, WAIT, 0);
	add(family, 3, RETURN, 0);
	add(family, 1, RETURN_IF_ALL_WAIT, -EIO);
	family->forks_late = true;
	assert_int_equal(run_family(family), -EIO);
	assert_waiters_ended_by(family, CANCEL_SIBLING_DONE);
	assert_int_equal(family->late_fork_error, -ECANCELED);
	assert_false(family->late_has_run);
	free(family);
}

static void enough_successes_cancel_the_others(void **state)
{
	struct family *family =
		make_family((struct scope_options){.policy = SCOPE_QUORUM, .quorum = 3});

	(void)state;
	add(family, 10, WAIT, 0);
	add(family, 4, RETURN, -EIO);
	add(family, 2, RETURN, 0);
	add(family, 1, RETURN_IF_ALL_WAIT, 7);
	assert_int_equal(run_family(family), 0);
	assert_waiters_ended_by(family, CANCEL_SIBLING_DONE);
	free(family);
}

static void too_few_successes_give_the_first_error(void **state)
{
	struct family *family = make_family(
		(struct scope_options){.policy = SCOPE_QUORUM, .quorum = 3, .max_parallel = 1});

	(void)state;
	add(family, 2, RETURN, 0);
	add(family, 1, RETURN, -ENOENT);
	add(family, 1, RETURN, -EIO);
	assert_int_equal(run_family(family), -ENOENT);
	free(family);
}

static void too_few_children_are_said_to_be(void **state)
{
	struct family *quorum =
		make_family((struct scope_options){.policy = SCOPE_QUORUM, .quorum = 3});
	struct family *none = make_family((struct scope_options){.policy = SCOPE_FIRST});

	(void)state;
	add(quorum, 2, RETURN, 0);
	assert_int_equal(run_family(quorum), -ECHILD);
	assert_int_equal(run_family(none), -ECHILD);
	free(quorum);
	free(none);
}

static void the_other_policies_ignore_what_does_not_concern_them(void **state)
{
	static const enum scope_policy policies[] = {SCOPE_ALL, SCOPE_COLLECT, SCOPE_FAIL_FAST};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct family *family = make_family((struct scope_options){.policy = policies[i]});

		add(family, 10, RETURN, 0);
		if (policies[i] != SCOPE_FAIL_FAST)
			add(family, 10, RETURN, -EIO);
		assert_int_equal(run_family(family), 0);
		for (unsigned j = 0; j < family->count; j++) {
			assert_true(family->children[j].has_run);
			assert_int_equal(family->children[j].reason, CANCEL_NONE);
		}
		free(family);
	}
}

static void a_deadline_is_no_failure_of_a_child(void **state)
{
	static const enum scope_policy policies[] = {SCOPE_FIRST, SCOPE_FAIL_FAST, SCOPE_QUORUM};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct family *family = make_family((struct scope_options){
			.policy = policies[i],
			.quorum = policies[i] == SCOPE_QUORUM,
			.deadline = deadline_in_ms(20),
		});

		add(family, 5, WAIT, 0);
		if (policies[i] != SCOPE_FAIL_FAST)
			add(family, 1, RETURN, -EIO);
		assert_int_equal(run_family(family), -ETIMEDOUT);
		for (unsigned j = 0; j < family->waiters; j++)
			if (family->children[j].has_run)
				assert_int_equal(family->children[j].reason, CANCEL_DEADLINE);
		free(family);
	}
}

static void a_success_counts_also_after_the_deadline(void **state)
{
	struct family *family = make_family((struct scope_options){
		.policy = SCOPE_FIRST,
		.deadline = deadline_in_ms(20),
	});
	unsigned ran = 0;
	int error;

	(void)state;
	add(family, 3, WAIT_AND_SUCCEED, 0);
	error = run_family(family);
	for (unsigned i = 0; i < family->count; i++)
		ran += family->children[i].has_run;
	/* On a busy machine none may have started in time. */
	assert_int_equal(error, ran > 0 ? 0 : -ETIMEDOUT);
	free(family);
}

static int cancel_before_any_child(void *arg)
{
	struct scope scope;

	scope_open(&scope, arg);
	scope_cancel(&scope, CANCEL_OVERLOAD);
	return scope_join(&scope);
}

static void a_cancelled_scope_says_so_whatever_its_policy(void **state)
{
	struct executor *executor = start_executor(2);

	(void)state;
	for (int policy = SCOPE_ALL; policy <= SCOPE_COLLECT; policy++) {
		struct scope_options options = {
			.policy = (enum scope_policy)policy,
			.quorum = policy == SCOPE_QUORUM,
		};

		assert_int_equal(run_in_task(executor, cancel_before_any_child, &options),
		                 -ECANCELED);
	}
	executor_destroy(executor);
}

/* Scopes within scopes: the loser of the outer race is itself waiting for a race. */
struct loser {
	struct task task;
	struct family *family;
};

static int lose(struct task *task)
{
	return fork_family(((struct loser *)task)->family);
}

static int race_of_two(void *arg)
{
	struct family *family = arg;
	struct loser loser = {.task.run = lose, .family = family};
	struct child winner = {
		.task.run = child_run, .family = family, .behaviour = RETURN_IF_ALL_WAIT};
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FIRST});
	error = scope_fork(&scope, &loser.task);
	error |= scope_fork(&scope, &winner.task);
	error |= scope_join(&scope);
	return loser.task.result == -ECANCELED ? error : -EPROTO;
}

static void the_losers_children_lose_with_it(void **state)
{
	struct executor *executor = start_executor(MOST + 3);
	struct family *family = make_family((struct scope_options){.policy = SCOPE_FIRST});

	(void)state;
	add(family, 10, WAIT, 0);
	assert_int_equal(run_in_task(executor, race_of_two, family), 0);
	executor_destroy(executor);
	for (unsigned i = 0; i < family->count; i++) {
		assert_int_equal(family->children[i].reason, CANCEL_SIBLING_DONE);
		assert_int_equal(family->children[i].task.result, -ECANCELED);
	}
	free(family);
}

/* Successes and failures that come at the same time, on several carriers or threads. */
static int race_again_and_again(void *arg)
{
	struct family *family = arg;
	int error = 0;

	for (int round = 0; round < 300 && error == 0; round++) {
		bool is_first = round % 2;
		unsigned successes = 0;

		family->options.policy = is_first ? SCOPE_FIRST : SCOPE_FAIL_FAST;
		family->options.max_parallel = (unsigned)round % 5;
		for (unsigned i = 0; i < family->count; i++) {
			int result = (i * 7 + (unsigned)round) % 3 ? 0 : -EIO;

			family->children[i] = (struct child){.result = result};
		}
		error = fork_family(family);
		for (unsigned i = 0; i < family->count; i++)
			successes += family->children[i].fork_error == 0 &&
			             family->children[i].task.result == 0;
		if (error != (is_first ? 0 : -EIO) || (is_first && successes == 0))
			return -EPROTO;
		error = 0;
	}
	return error;
}

static void races_have_one_outcome(void **state)
{
	struct executor *executor = start_executor(4);
	struct family *family = make_family((struct scope_options){0});

	(void)state;
	add(family, MOST, RETURN, 0);
	assert_int_equal(run_in_task(executor, race_again_and_again, family), 0);
	executor_destroy(executor);
	free(family);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_success_cancels_the_others),
		cmocka_unit_test(what_has_not_started_never_does_after_a_success),
		cmocka_unit_test(without_a_success_the_first_error_comes_out),
		cmocka_unit_test(the_first_failure_cancels_the_others),
		cmocka_unit_test(enough_successes_cancel_the_others),
		cmocka_unit_test(too_few_successes_give_the_first_error),
		cmocka_unit_test(too_few_children_are_said_to_be),
		cmocka_unit_test(the_other_policies_ignore_what_does_not_concern_them),
		cmocka_unit_test(a_deadline_is_no_failure_of_a_child),
		cmocka_unit_test(a_success_counts_also_after_the_deadline),
		cmocka_unit_test(a_cancelled_scope_says_so_whatever_its_policy),
		cmocka_unit_test(the_losers_children_lose_with_it),
		cmocka_unit_test(races_have_one_outcome),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
