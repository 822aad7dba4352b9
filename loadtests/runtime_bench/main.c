#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executors/cpu_quota.h"
#include "loadtests/runtime_bench/bench.h"

static int usage(FILE *out, int status)
{
	(void)fprintf(out,
	              "usage: runtime-bench [--json] [--quick]\n"
	              "\n"
	              "Measures the coroutine runtime, and the same with pthreads, in one run:\n"
	              "medians of some 25 batches with the least and the greatest. Takes about a\n"
	              "minute; --quick only shows that it runs.\n");
	return status;
}

static unsigned usable_cpus(void)
{
	static struct cpu_quota quota; /* a path in it: not for the stack */
	struct cpu_quota_reader *reader;
	int error = cpu_quota_reader_create("", 0, &reader);

	if (error < 0)
		bench_fail("cannot read the CPU quota", error);
	cpu_quota_read(reader, &quota);
	cpu_quota_reader_destroy(reader);
	return quota.usable;
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

/* What a run starts in processes of their own: see bench_fresh_process(). */
static int run_part(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--parked") == 0)
		return parked_main(argv[2], number(argv[3]));
	if (argc == 5 && strcmp(argv[1], "--sleepers") == 0)
		return sleepers_main(argv[2], number(argv[3]), number(argv[4]));
	return -ENOENT;
}

/* First what needs a quiet process; the tree of the JSON wants all of `pthread` together. */
static void measure(struct bench *bench)
{
	bench_coroutines(bench);
	bench_parked(bench, false);
	bench_sleepers(bench, false);
	bench_pthreads(bench);
	bench_parked(bench, true);
	bench_sleepers(bench, true);
}

int main(int argc, char **argv)
{
	static struct bench bench; /* tens of KiB of samples */
	bool json = false;
	int status = run_part(argc, argv);

	if (status >= 0)
		return status;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--quick") == 0)
			bench.quick = true;
		else
			return strcmp(argv[i], "--help") == 0 ? usage(stdout, 0) : usage(stderr, 2);
	}
	bench.cpus = usable_cpus();
	measure(&bench);
	status = json ? figures_print_json(&bench.figures, stdout)
	              : figures_print_text(&bench.figures, stdout);
	return status < 0 || fflush(stdout) != 0;
}
