#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executors/executor.h"
#include "executors/latch.h"
#include "executors/scope.h"

/*
 *	waiting-coroutines [STACK_GUARD]
 *
 * Coroutines for a debugger to look at, as they stand once the line "waiting" has been printed:
 * three children parked, each in a function that knows its number; their parent in the join;
 * and one in a system call on its carrier. The program ends with its input.
 */
enum { CHILDREN = 3 };

struct child {
	struct task task;
	struct latch may_end;
	int number;
};

static struct child children[CHILDREN];
static struct executor *executor;

/* Not inlined, and with a variable that lives across the wait: what a test looks for. */
static __attribute__((noinline)) int wait_for_the_end(struct latch *may_end, int number)
{
	int squared = number * number;
	int error = latch_wait_masked(may_end, DEADLINE_NEVER);

	return error < 0 ? error : squared;
}

static int child_run(struct task *task)
{
	struct child *child = (struct child *)task;

	return wait_for_the_end(&child->may_end, child->number);
}

static int parent_run(struct task *task)
{
	struct scope scope;

	(void)task;
	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (int i = 0; i < CHILDREN; i++) {
		children[i].task.run = child_run;
		children[i].task.name = "parked child";
		children[i].number = 7 + i;
		if (scope_fork(&scope, &children[i].task) < 0)
			abort();
	}
	return scope_join(&scope);
}

static void wait_until_all_others_have_parked(void)
{
	struct executor_stats stats;

	do {
		task_yield();
		executor_stats(executor, &stats);
	} while (stats.parked < CHILDREN + 1);
}

/* Says so on its way into the system call: a debugger may come at once. */
static __attribute__((noinline)) void read_to_the_end(void)
{
	char text[64];

	if (puts("waiting") < 0 || fflush(stdout) != 0)
		abort();
	while (read(STDIN_FILENO, text, sizeof(text)) > 0)
		continue;
}

static int reader_run(struct task *task)
{
	(void)task;
	wait_until_all_others_have_parked();
	read_to_the_end();
	for (int i = 0; i < CHILDREN; i++)
		latch_arrive(&children[i].may_end);
	return 0;
}

static void root_done(struct task *task)
{
	if (task->result < 0)
		abort();
}

static enum stack_guard guard_called(const char *name)
{
	if (strcmp(name, "mprotect") == 0)
		return STACK_GUARD_MPROTECT;
	if (strcmp(name, "canary") == 0)
		return STACK_GUARD_CANARY;
	return STACK_GUARD_AUTO;
}

int main(int argc, char **argv)
{
	struct executor_options options = {
		.threads = 2,
		.max_tasks = 10,
		.stack_bytes = 65536,
		.stack_guard = guard_called(argc > 1 ? argv[1] : "auto"),
		.pinned_threshold_ms = 60000,
	};
	struct task parent = {.run = parent_run, .done = root_done, .name = "parent"};
	struct task reader = {.run = reader_run, .done = root_done, .name = "reader"};

	for (int i = 0; i < CHILDREN; i++)
		latch_init(&children[i].may_end, 1);
	if (executor_create("coroutine", &options, &executor) < 0 ||
	    executor_submit(executor, &parent) < 0 || executor_submit(executor, &reader) < 0)
		return EXIT_FAILURE;
	executor_destroy(executor);
	for (int i = 0; i < CHILDREN; i++)
		latch_finish(&children[i].may_end);
	return EXIT_SUCCESS;
}
