#ifndef LOADTESTS_RUNTIME_BENCH_BENCH_H
#define LOADTESTS_RUNTIME_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "executors/executor.h"
#include "loadtests/runtime_bench/figures.h"

/** What all measurements share. */
struct bench {
	struct figures figures;
	bool quick;    /* few and short: to see that everything runs, not for the figures */
	unsigned cpus; /* usable ones, at least 1 */
};

/**
 * Sample what one of @count costs, in ns: fn(arg, count) does the thing so many times. Once to
 * warm up, then some 25 times (3 if quick, each a hundredth as long).
 */
void bench_sample(struct bench *bench, const char *name, uint64_t count,
                  void (*fn)(void *arg, uint64_t count), void *arg);

/** An executor with the server's default limits but for these; ends the program if there is none.
 */
struct executor *bench_executor(const char *kind, unsigned threads, unsigned max_tasks);

/** Run fn(arg) in a root task of @executor and wait for it on the calling thread. */
void bench_run(struct executor *executor, void (*fn)(void *arg), void *arg);

/** Print "runtime-bench: WHAT: reason of @error" and end the program. */
_Noreturn void bench_fail(const char *what, int error);

/* The measurements. Each adds figures to bench->figures; with @of_pthreads those of a pthread a
 * task, or of a pool, under `pthread`. */
void bench_coroutines(struct bench *bench);
void bench_pthreads(struct bench *bench);
void bench_parked(struct bench *bench, bool of_pthreads);
void bench_sleepers(struct bench *bench, bool of_pthreads);

/* Those that need a process of their own: what that prints, a number a line. */
int parked_main(const char *kind, unsigned count);
int sleepers_main(const char *kind, unsigned threads, unsigned rounds);

enum { FRESH_VALUES_MAX = 16 };

/**
 * Run this program anew with @arguments, NULL at the end, and read the numbers that it prints.
 * Returns how many, or -EIO: it failed. Ends the program if it cannot be started.
 */
int bench_fresh_process(const char *const arguments[], double values[FRESH_VALUES_MAX]);

#endif
