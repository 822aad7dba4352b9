#include "tests/contract/over_executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_CASES = 64, LONGEST_NAME = 128 };

const char *executor_under_test;

/* As the servers do: hundreds of connections at once, where the soft limit is mostly 1,024. */
static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int run_over_executor(int argc, char **argv, const struct CMUnitTest *cases, size_t count)
{
	static struct CMUnitTest named[MOST_CASES];
	static char names[MOST_CASES][LONGEST_NAME];
	size_t chosen = 0;

	if (argc != 2 || count > MOST_CASES) {
		(void)fprintf(stderr, "usage: %s EXECUTOR\n", argv[0]);
		return EXIT_FAILURE;
	}
	executor_under_test = argv[1];
	raise_fd_limit();
	for (size_t i = 0; i < count; i++) {
		const char *only_on = cases[i].initial_state;

		if (only_on && !strstr(only_on, argv[1]))
			continue;
		if (snprintf(names[chosen], sizeof(names[chosen]), "%s: %s", argv[1],
		             cases[i].name) >= LONGEST_NAME)
			return EXIT_FAILURE;
		named[chosen] = cases[i];
		named[chosen].name = names[chosen];
		named[chosen].initial_state = NULL;
		chosen++;
	}
	return _cmocka_run_group_tests(argv[1], named, chosen, NULL, NULL);
}

struct executor_options options_for(unsigned at_once)
{
	bool is_pool = strcmp(executor_under_test, "pool") == 0;

	return (struct executor_options){
		.threads = is_pool ? at_once : 4,
		.max_tasks = 100000,
		.max_threads = at_once + 2000,
		.max_queued = 10000,
		.stack_bytes = 128 * 1024,
		.spare_drivers = 64,
		.pinned_threshold_ms = 20,
	};
}

struct executor *start_executor_with(const struct executor_options *options)
{
	struct executor *executor = NULL;

	assert_int_equal(executor_create(executor_under_test, options, &executor), 0);
	return executor;
}

struct executor *start_executor(unsigned at_once)
{
	struct executor_options options = options_for(at_once);

	return start_executor_with(&options);
}

struct function_task {
	struct task task;
	int (*fn)(void *arg);
	void *arg;
	struct countdown over;
};

static int function_task_run(struct task *task)
{
	struct function_task *function = (struct function_task *)task;

	return function->fn(function->arg);
}

static void function_task_done(struct task *task)
{
	countdown_arrive(&((struct function_task *)task)->over);
}

int run_in_task(struct executor *executor, int (*fn)(void *arg), void *arg)
{
	struct function_task function = {
		.task = {.run = function_task_run, .done = function_task_done},
		.fn = fn,
		.arg = arg,
	};

	countdown_init(&function.over, 1);
	assert_int_equal(executor_submit(executor, &function.task), 0);
	countdown_wait(&function.over);
	countdown_finish(&function.over);
	return function.task.result;
}

static struct offload *lanes;

static void end_lanes(void)
{
	offload_destroy(lanes);
}

struct offload *lanes_for_tests(void)
{
	if (lanes)
		return lanes;
	assert_int_equal(offload_create(&(struct offload_options){.cpus = 1}, &lanes), 0);
	assert_int_equal(atexit(end_lanes), 0);
	return lanes;
}

void countdown_init(struct countdown *countdown, unsigned count)
{
	*countdown = (struct countdown){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.is_zero = PTHREAD_COND_INITIALIZER,
		.remaining = count,
	};
}

void countdown_finish(struct countdown *countdown)
{
	pthread_cond_destroy(&countdown->is_zero);
	pthread_mutex_destroy(&countdown->lock);
}

void countdown_arrive(struct countdown *countdown)
{
	pthread_mutex_lock(&countdown->lock);
	if (--countdown->remaining == 0)
		pthread_cond_signal(&countdown->is_zero);
	pthread_mutex_unlock(&countdown->lock);
}

void countdown_wait(struct countdown *countdown)
{
	pthread_mutex_lock(&countdown->lock);
	while (countdown->remaining > 0)
		pthread_cond_wait(&countdown->is_zero, &countdown->lock);
	pthread_mutex_unlock(&countdown->lock);
}
