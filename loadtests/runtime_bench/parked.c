#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executors/latch.h"
#include "executors/scope.h"
#include "loadtests/runtime_bench/bench.h"

/*
 * What a parked task takes: the growth of the process from before N tasks were
 * started to when all of them wait, task objects included. Each measurement is a
 * process of its own, since memory that was used once is not new.
 */
enum { PATIENCE_MS = 120000 };

/* What is to be free for each task, twice over what one should take. */
enum { BYTES_NEEDED_PER_TASK = 10 * 1024 };

/* A line "Name:   123 kB" of @path; -1 if there is none. */
static long kibibytes(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	char line[128];
	long value = -1;

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtol(line + strlen(name), NULL, 10);
	if (file)
		(void)fclose(file);
	return value;
}

struct memory {
	long rss_kib;
	long page_table_kib;
};

static struct memory memory_now(void)
{
	return (struct memory){
		.rss_kib = kibibytes("/proc/self/status", "VmRSS:"),
		.page_table_kib = kibibytes("/proc/self/status", "VmPTE:"),
	};
}

struct parker {
	struct task task; /* first */
	struct latch *arrived;
};

static int park_until_cancelled(struct task *task)
{
	struct parker *parker = (struct parker *)task;

	latch_arrive(parker->arrived);
	while (task_park(DEADLINE_NEVER) != -ECANCELED)
		;
	return 0;
}

struct parked {
	unsigned count;
	struct parker *parkers; /* zeroed memory that has not been touched */
	struct memory before, after;
	int error;
};

static void park_all(void *arg)
{
	struct parked *parked = arg;
	struct latch arrived;
	struct scope scope;

	latch_init(&arrived, parked->count);
	scope_open(&scope, &(struct scope_options){0});
	parked->before = memory_now();
	for (unsigned i = 0; i < parked->count && !parked->error; i++) {
		struct parker *parker = &parked->parkers[i];

		parker->task.run = park_until_cancelled;
		parker->arrived = &arrived;
		parked->error = scope_fork(&scope, &parker->task);
	}
	/* Some may be refused a stack or a thread later on: then it never gets to zero. */
	if (!parked->error)
		parked->error = latch_wait(&arrived, deadline_in_ms(PATIENCE_MS));
	parked->after = memory_now();
	scope_cancel(&scope, CANCEL_SIBLING_DONE);
	(void)scope_join(&scope);
	latch_finish(&arrived);
}

static double bytes_per_task(long before_kib, long after_kib, unsigned count)
{
	return (double)(after_kib - before_kib) * 1024 / count;
}

int parked_main(const char *kind, unsigned count)
{
	struct executor *executor = bench_executor(kind, 2, count + 1);
	struct parked parked = {.count = count, .parkers = calloc(count, sizeof(*parked.parkers))};

	if (!parked.parkers)
		bench_fail("no memory", -ENOMEM);
	bench_run(executor, park_all, &parked);
	executor_destroy(executor);
	free(parked.parkers);
	if (parked.error < 0)
		bench_fail("not all tasks could be started", parked.error);
	return printf("%.1f\n%.1f\n",
	              bytes_per_task(parked.before.rss_kib, parked.after.rss_kib, count),
	              bytes_per_task(parked.before.page_table_kib, parked.after.page_table_kib,
	                             count)) < 0;
}

static void name_figure(char name[FIGURE_NAME_BYTES], const char *before, unsigned count,
                        const char *what)
{
	int length = snprintf(name, FIGURE_NAME_BYTES, "%sparked.%u.%s", before, count, what);

	if (length < 0 || length >= FIGURE_NAME_BYTES)
		bench_fail("cannot name a figure", -ENOBUFS);
}

struct row {
	const char *prefix, *executor;
	unsigned count, processes;
	bool quick; /* also in a quick run */
};

static const char *reason_to_skip(const struct bench *bench, const struct row *row)
{
	long available_kib = kibibytes("/proc/meminfo", "MemAvailable:");

	if (bench->quick && !row->quick)
		return "not in a quick run";
	if (available_kib < (long)row->count * (BYTES_NEEDED_PER_TASK / 1024))
		return "too little memory is available";
	return NULL;
}

static void sample(struct bench *bench, const struct row *row)
{
	char rss[FIGURE_NAME_BYTES], page_table[FIGURE_NAME_BYTES], count[16];
	const char *const arguments[] = {"runtime-bench", "--parked", row->executor, count, NULL};
	const char *skip = reason_to_skip(bench, row);
	double values[FRESH_VALUES_MAX];

	name_figure(rss, row->prefix, row->count, "rss_bytes_per_task");
	name_figure(page_table, row->prefix, row->count, "page_table_bytes_per_task");
	if (snprintf(count, sizeof(count), "%u", row->count) < 0)
		bench_fail("cannot print", -errno);
	for (unsigned i = 0; !skip && i < (bench->quick ? 1 : row->processes); i++) {
		if (bench_fresh_process(arguments, values) == 2) {
			figures_add(&bench->figures, rss, values[0]);
			figures_add(&bench->figures, page_table, values[1]);
		} else {
			skip = "not so many could be started";
		}
	}
	if (skip) {
		figures_skip(&bench->figures, rss, skip);
		figures_skip(&bench->figures, page_table, skip);
	}
}

void bench_parked(struct bench *bench, bool of_pthreads)
{
	static const struct row of_coroutines[] = {
		{"", "coroutine", 10000, 5, true},
		{"", "coroutine", 100000, 3, false},
		{"", "coroutine", 1000000, 1, false},
	};
	static const struct row of_threads = {"pthread.", "thread", 10000, 3, false};

	if (of_pthreads) {
		sample(bench, &of_threads);
		return;
	}
	for (size_t i = 0; i < sizeof(of_coroutines) / sizeof(of_coroutines[0]); i++)
		sample(bench, &of_coroutines[i]);
}
