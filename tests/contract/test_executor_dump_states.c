#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "executors/mutex.h"
#include "executors/scope.h"
#include "tests/contract/dump_fixture.h"
#include "tests/contract/over_executor.h"

/* Pictures of what does not just wait: children to come, carriers that are kept, tasks that come
 * and go. */

static const int64_t ms = 1000000;

/* ------ a root task that waits until it is cancelled */

struct root {
	struct task task;
	struct cancel cancel;
	struct countdown over;
};

static void root_done(struct task *task)
{
	countdown_arrive(&((struct root *)task)->over);
}

static void start_root(struct root *root, int (*run)(struct task *task), const char *name,
                       struct executor *executor)
{
	root->task =
		(struct task){.run = run, .done = root_done, .cancel = &root->cancel, .name = name};
	cancel_init(&root->cancel, NULL);
	countdown_init(&root->over, 1);
	assert_int_equal(executor_submit(executor, &root->task), 0);
}

static void end_root(struct root *root)
{
	cancel_fire(&root->cancel, CANCEL_SHUTDOWN);
	countdown_wait(&root->over);
	countdown_finish(&root->over);
	cancel_finish(&root->cancel);
}

/* ------ children that have not started */

enum { CHILDREN = 20 };

static int sleeps_for_long(struct task *task)
{
	(void)task;
	return task_sleep_until(deadline_in_ms(1000 * 1000));
}

static int narrow_run(struct task *task)
{
	struct task children[CHILDREN] = {0};
	struct scope scope;
	int error = 0;

	(void)task;
	scope_open(&scope, &(struct scope_options){.max_parallel = 1});
	for (int i = 0; i < CHILDREN; i++) {
		children[i].run = sleeps_for_long;
		children[i].name = "child";
		error |= scope_fork(&scope, &children[i]);
	}
	return error | scope_join(&scope);
}

static void children_that_have_not_started_are_counted(void **state)
{
	struct executor *executor = start_executor(4);
	struct root narrow;
	struct task_dump dump;
	const struct task_dump_entry *parent;

	(void)state;
	start_root(&narrow, narrow_run, "narrow", executor);
	dump_once_parked(executor, 2, &dump);
	parent = find_entry(&dump, "narrow");
	assert_int_equal(parent->scopes[0].running, 1);
	assert_int_equal(parent->scopes[0].not_started, CHILDREN - 1);
	assert_int_equal(dump.rest, CHILDREN - 1);
	task_dump_finish(&dump);
	end_root(&narrow);
	executor_destroy(executor);
}

/* A pool of one thread: the parent runs its children itself, each within the one before. */
static void a_parent_that_runs_its_child_waits_for_it(void **state)
{
	struct executor *executor = start_executor(1);
	struct root narrow;
	struct task_dump dump;
	const struct task_dump_entry *parent, *child;

	(void)state;
	start_root(&narrow, narrow_run, "narrow", executor);
	dump_once_parked(executor, 2, &dump);
	parent = find_entry(&dump, "narrow");
	child = find_entry(&dump, "child");
	assert_int_equal(parent->wait, WAIT_OWN_CHILD);
	assert_ptr_equal(parent->object, child->id);
	assert_int_equal(child->wait, WAIT_SLEEP);
	assert_ptr_equal(child->parent, parent->id);
	task_dump_finish(&dump);
	end_root(&narrow);
	executor_destroy(executor);
}

/* ------ stacks */

struct deep {
	struct root root;
	const void *return_address; /* into the function that called the one that waits */
};

static __attribute__((noinline)) int waits_deep_down(struct deep *deep)
{
	int error;

	deep->return_address = __builtin_return_address(0);
	error = task_sleep_until(deadline_in_ms(1000 * 1000));
	return error | (deep->return_address == NULL); /* no tail call */
}

static int deep_run(struct task *task)
{
	return waits_deep_down((struct deep *)task) | (task->name == NULL);
}

static void the_stack_of_a_parked_task_leads_to_who_called(void **state)
{
	struct executor *executor = start_executor(4);
	struct deep deep = {0};
	struct task_dump dump;
	const struct task_dump_entry *entry;
	bool is_there = false;

	(void)state;
	start_root(&deep.root, deep_run, "deep", executor);
	dump_once_parked(executor, 1, &dump);
	entry = find_entry(&dump, "deep");
	assert_true(entry->frames >= 4);
	for (unsigned i = 0; i < entry->frames; i++) {
		assert_non_null(entry->pcs[i]);
		is_there |= entry->pcs[i] == deep.return_address;
	}
	assert_true(is_there);
	task_dump_finish(&dump);
	end_root(&deep.root);
	executor_destroy(executor);
}

/* ------ carriers that are kept */

struct hog {
	struct task task;
	struct countdown runs, may_end, over;
};

static int hog_run(struct task *task)
{
	struct hog *hog = (struct hog *)task;

	countdown_arrive(&hog->runs);
	countdown_wait(&hog->may_end); /* blocks the thread */
	return 0;
}

static void hog_done(struct task *task)
{
	countdown_arrive(&((struct hog *)task)->over);
}

static void start_hog(struct hog *hog, struct executor *executor)
{
	*hog = (struct hog){.task = {.run = hog_run, .done = hog_done, .name = "hog"}};
	countdown_init(&hog->runs, 1);
	countdown_init(&hog->may_end, 1);
	countdown_init(&hog->over, 1);
	assert_int_equal(executor_submit(executor, &hog->task), 0);
	countdown_wait(&hog->runs);
}

static void end_hog(struct hog *hog)
{
	countdown_arrive(&hog->may_end);
	countdown_wait(&hog->over);
	countdown_finish(&hog->over);
	countdown_finish(&hog->may_end);
	countdown_finish(&hog->runs);
}

static void a_carrier_that_nobody_takes_over_is_shown_with_who_keeps_it(void **state)
{
	struct executor_options options = options_for(4);
	struct executor *executor;
	struct task_dump dump;
	struct hog hog;
	int64_t took_ns;

	(void)state;
	options.threads = 1;
	options.spare_drivers = 0;
	executor = start_executor_with(&options);
	start_hog(&hog, executor);
	took_ns = deadline_now_ns();
	assert_int_equal(executor_dump_tasks(executor, DUMP_MAX, &dump), 0);
	took_ns = deadline_now_ns() - took_ns;
	assert_true(took_ns < 2000 * ms);
	assert_int_equal(dump.count, 0);
	assert_int_equal(dump.rest, 1);
	assert_true(dump.carriers[0].is_silent);
	assert_string_equal(dump.carriers[0].task_name, "hog");
	assert_ptr_equal(dump.carriers[0].task, &hog.task);
	assert_true(deadline_now_ns() - dump.carriers[0].silent_since_ns >= 50 * ms);
	task_dump_finish(&dump);
	end_hog(&hog);
	/* The request that it did not see is gone, and the next one is seen. */
	assert_int_equal(executor_dump_tasks(executor, DUMP_MAX, &dump), 0);
	assert_false(dump.carriers[0].is_silent);
	task_dump_finish(&dump);
	executor_destroy(executor);
}

static void a_task_that_was_taken_its_carrier_runs_beside_it(void **state)
{
	struct executor_options options = options_for(4);
	struct deadline deadline = deadline_in_ms(DUMP_PATIENCE_MS);
	struct executor *executor;
	struct task_dump dump;
	struct hog hog;
	bool is_beside = false;

	(void)state;
	options.threads = 1;
	executor = start_executor_with(&options);
	start_hog(&hog, executor);
	while (!is_beside && deadline_remaining_ns(deadline) > 0) {
		assert_int_equal(executor_dump_tasks(executor, DUMP_MAX, &dump), 0);
		is_beside = dump.count == 1 && find_entry(&dump, "hog")->state == TASK_BESIDE;
		task_dump_finish(&dump);
	}
	assert_true(is_beside);
	end_hog(&hog);
	executor_destroy(executor);
}

/* ------ while tasks come and go */

struct churn {
	struct task task;
	struct countdown over;
	struct task_mutex mutex;
	unsigned count;   /* children at once */
	bool has_hogs;    /* some of them keep their carriers */
	atomic_bool stop; /* relaxed: only ends a loop */
};

struct churn_child {
	struct task task;
	struct churn *churn;
	bool is_hog;
};

static void compute_for(int64_t ns)
{
	struct deadline deadline = deadline_in_ns(ns);

	while (deadline_remaining_ns(deadline) > 0)
		continue;
}

static int churn_child_run(struct task *task)
{
	struct churn *churn = ((struct churn_child *)task)->churn;
	int error = task_mutex_lock(&churn->mutex, DEADLINE_NEVER);

	if (error < 0)
		return error;
	task_yield();
	task_mutex_unlock(&churn->mutex);
	if (((struct churn_child *)task)->is_hog)
		compute_for(4 * ms);
	return task_sleep_until(deadline_in_ns(50000));
}

static int churn_run(struct task *task)
{
	struct churn *churn = (struct churn *)task;
	int error = 0;

	while (error == 0 && !atomic_load_explicit(&churn->stop, memory_order_relaxed)) {
		struct churn_child *children = calloc(churn->count, sizeof(*children));
		struct scope scope;

		if (!children)
			return -ENOMEM;

		scope_open(&scope, &(struct scope_options){0});
		for (unsigned i = 0; i < churn->count; i++) {
			children[i].task.run = churn_child_run;
			children[i].churn = churn;
			children[i].is_hog = churn->has_hogs && i % 8 == 0;
			children[i].task.name = children[i].is_hog ? "hog" : "child";
			error |= scope_fork(&scope, &children[i].task);
		}
		error |= scope_join(&scope);
		free(children);
	}
	return error;
}

static void churn_done(struct task *task)
{
	countdown_arrive(&((struct churn *)task)->over);
}

static void take_pictures(struct executor *executor, unsigned count, bool has_hogs)
{
	struct churn churn = {
		.task = {.run = churn_run, .done = churn_done},
		.count = count,
		.has_hogs = has_hogs,
	};
	struct deadline deadline = deadline_in_ms(DUMP_PATIENCE_MS);
	struct task_dump dump;
	unsigned parked = 0;

	countdown_init(&churn.over, 1);
	task_mutex_init(&churn.mutex);
	assert_int_equal(executor_submit(executor, &churn.task), 0);
	for (unsigned i = 0; i < 300 || parked < 300; i++) {
		assert_true(deadline_remaining_ns(deadline) > 0);
		assert_int_equal(executor_dump_tasks(executor, DUMP_MAX, &dump), 0);
		assert_in_range(dump.count, 0, DUMP_MAX);
		for (unsigned j = 0; j < dump.count; j++)
			assert_non_null(dump.entries[j].id);
		parked += count_parked(&dump);
		task_dump_finish(&dump);
	}
	atomic_store_explicit(&churn.stop, true, memory_order_relaxed);
	countdown_wait(&churn.over);
	assert_int_equal(churn.task.result, 0);
	task_mutex_finish(&churn.mutex);
	countdown_finish(&churn.over);
	executor_destroy(executor);
}

static void pictures_can_be_taken_while_tasks_come_and_go(void **state)
{
	(void)state;
	take_pictures(start_executor(8), 20, false);
}

/* A carrier has more of them than it lists in a turn. */
static void pictures_can_be_taken_of_many_that_come_and_go(void **state)
{
	struct executor_options options = options_for(8);

	(void)state;
	options.threads = 2;
	take_pictures(start_executor_with(&options), 1800, false);
}

static void pictures_can_be_taken_while_carriers_are_handed_over(void **state)
{
	struct executor_options options = options_for(8);

	(void)state;
	options.threads = 2;
	options.pinned_threshold_ms = 1;
	take_pictures(start_executor_with(&options), 20, true);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_that_have_not_started_are_counted),
		cmocka_unit_test_prestate(a_parent_that_runs_its_child_waits_for_it, "pool"),
		cmocka_unit_test_prestate(the_stack_of_a_parked_task_leads_to_who_called,
	                                  "coroutine"),
		cmocka_unit_test_prestate(
			a_carrier_that_nobody_takes_over_is_shown_with_who_keeps_it, "coroutine"),
		cmocka_unit_test_prestate(a_task_that_was_taken_its_carrier_runs_beside_it,
	                                  "coroutine"),
		cmocka_unit_test(pictures_can_be_taken_while_tasks_come_and_go),
		cmocka_unit_test_prestate(pictures_can_be_taken_of_many_that_come_and_go,
	                                  "coroutine"),
		cmocka_unit_test_prestate(pictures_can_be_taken_while_carriers_are_handed_over,
	                                  "coroutine"),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
