#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "executors/scope.h"
#include "loadtests/runtime_bench/bench.h"

/* 10,000 tasks that sleep 100 ms: the first round in a fresh process, and the later ones. */

enum { SLEEPERS = 10000, SLEEP_MS = 100 };
enum { FRESH_PROCESSES = 20, ROUNDS = 3, POOL_THREADS = 200, POOL_ROUNDS = 2 };

static int sleep_once(struct task *task)
{
	(void)task;
	return task_sleep_until(deadline_in_ms(SLEEP_MS));
}

static void sleep_all(void *arg)
{
	struct task *tasks = arg;
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < SLEEPERS && error == 0; i++) {
		tasks[i] = (struct task){.run = sleep_once};
		error = scope_fork(&scope, &tasks[i]);
	}
	(void)scope_join(&scope);
	for (int i = 0; i < SLEEPERS && error == 0; i++)
		error = tasks[i].result;
	if (error < 0)
		bench_fail("not all tasks have slept", error);
}

int sleepers_main(const char *kind, unsigned threads, unsigned rounds)
{
	struct executor *executor = bench_executor(kind, threads, 200000);
	int error = 0;

	for (unsigned round = 0; round < rounds && !error; round++) {
		int64_t started_ns = deadline_now_ns();
		struct task *tasks = malloc(SLEEPERS * sizeof(*tasks));

		if (!tasks)
			bench_fail("no memory", -ENOMEM);
		bench_run(executor, sleep_all, tasks);
		error = printf("%.3f\n", (double)(deadline_now_ns() - started_ns) / 1e6) < 0;
		free(tasks);
	}
	executor_destroy(executor);
	return error;
}

static void sample(struct bench *bench, const char *kind, unsigned threads, unsigned rounds,
                   const char *first, const char *later)
{
	char threads_text[16], rounds_text[16];
	const char *const arguments[] = {"runtime-bench", "--sleepers", kind,
	                                 threads_text,    rounds_text,  NULL};
	double values[FRESH_VALUES_MAX];
	int count;

	if (snprintf(threads_text, sizeof(threads_text), "%u", threads) < 0 ||
	    snprintf(rounds_text, sizeof(rounds_text), "%u", rounds) < 0)
		bench_fail("cannot print", -errno);
	count = bench_fresh_process(arguments, values);
	if (count != (int)rounds)
		bench_fail("the sleepers did not sleep", -EIO);
	figures_add(&bench->figures, first, values[0]);
	for (int i = 1; i < count; i++)
		figures_add(&bench->figures, later, values[i]);
}

static void sample_coroutines(struct bench *bench)
{
	for (int i = 0; i < (bench->quick ? 1 : FRESH_PROCESSES); i++)
		sample(bench, "coroutine", bench->cpus, ROUNDS, "sleep_10000x100ms.first_ms",
		       "sleep_10000x100ms.later_ms");
}

/* Each round takes five seconds. */
static void sample_pool(struct bench *bench)
{
	static const char first[] = "pthread.sleep_10000x100ms.first_ms";
	static const char later[] = "pthread.sleep_10000x100ms.later_ms";

	if (bench->quick) {
		figures_skip(&bench->figures, first, "not in a quick run");
		figures_skip(&bench->figures, later, "not in a quick run");
		return;
	}
	sample(bench, "pool", POOL_THREADS, POOL_ROUNDS, first, later);
}

void bench_sleepers(struct bench *bench, bool of_pthreads)
{
	if (of_pthreads)
		sample_pool(bench);
	else
		sample_coroutines(bench);
}
