#include "loadtests/runtime_bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCHES = 25, QUICK_BATCHES = 3, QUICK_DIVISOR = 100 };

void bench_fail(const char *what, int error)
{
	(void)fprintf(stderr, "runtime-bench: %s: %s\n", what, strerrordesc_np(-error));
	_exit(1); /* perhaps on a task's stack, beside other threads: no exit handlers */
}

void bench_sample(struct bench *bench, const char *name, uint64_t count,
                  void (*fn)(void *arg, uint64_t count), void *arg)
{
	unsigned batches = bench->quick ? QUICK_BATCHES : BATCHES;

	if (bench->quick)
		count = count / QUICK_DIVISOR > 0 ? count / QUICK_DIVISOR : 1;
	fn(arg, count);
	for (unsigned i = 0; i < batches; i++) {
		int64_t started_ns = deadline_now_ns();

		fn(arg, count);
		figures_add(&bench->figures, name,
		            (double)(deadline_now_ns() - started_ns) / (double)count);
	}
}

struct executor *bench_executor(const char *kind, unsigned threads, unsigned max_tasks)
{
	struct executor_options options = {
		.threads = threads,
		.max_tasks = max_tasks,
		.max_threads = max_tasks,
		.max_queued = 10000,
		.stack_bytes = 65536,
		.spare_drivers = 254,
		.pinned_threshold_ms = 20,
	};
	struct executor *executor = NULL;
	int error = executor_create(kind, &options, &executor);

	if (error < 0)
		bench_fail("cannot start an executor", error);
	return executor;
}

struct root {
	struct task task; /* first */
	void (*fn)(void *arg);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done; /* lock */
};

static int run_root(struct task *task)
{
	struct root *root = (struct root *)task;

	root->fn(root->arg);
	return 0;
}

static void root_done(struct task *task)
{
	struct root *root = (struct root *)task;

	pthread_mutex_lock(&root->lock);
	root->done = true;
	pthread_cond_signal(&root->changed);
	pthread_mutex_unlock(&root->lock);
}

void bench_run(struct executor *executor, void (*fn)(void *arg), void *arg)
{
	struct root root = {
		.task = {.run = run_root, .done = root_done, .deadline = DEADLINE_NEVER},
		.fn = fn,
		.arg = arg,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	int error = executor_submit(executor, &root.task);

	if (error < 0)
		bench_fail("cannot submit a task", error);
	pthread_mutex_lock(&root.lock);
	while (!root.done)
		pthread_cond_wait(&root.changed, &root.lock);
	pthread_mutex_unlock(&root.lock);
}

/* Start the program anew with @out as its standard output. */
static pid_t start_anew(const char *const arguments[], int out)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int error = posix_spawn_file_actions_init(&actions);

	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn(&pid, "/proc/self/exe", &actions, NULL,
		                    (char *const *)arguments, environ);
	if (error != 0)
		bench_fail("cannot start a process", -error);
	(void)posix_spawn_file_actions_destroy(&actions);
	return pid;
}

int bench_fresh_process(const char *const arguments[], double values[FRESH_VALUES_MAX])
{
	int ends[2], status = -1, count = 0;
	FILE *in;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		bench_fail("cannot make a pipe", -errno);
	pid = start_anew(arguments, ends[1]);
	(void)close(ends[1]);
	in = fdopen(ends[0], "r");
	if (!in)
		bench_fail("cannot read from a pipe", -errno);
	while (count < FRESH_VALUES_MAX && fscanf(in, "%lf", &values[count]) == 1)
		count++;
	(void)fclose(in);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return -EIO;
	return count;
}
