#ifndef LOADTESTS_RUNTIME_BENCH_FIGURES_H
#define LOADTESTS_RUNTIME_BENCH_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * What was measured: each figure has a name and some samples, and is reported as
 * their median, with the least and the greatest beside it. A name with dots,
 * "parked.10000.rss_bytes_per_task", is a place in the JSON's tree.
 */
enum { FIGURES_MAX = 64, FIGURE_SAMPLES_MAX = 128, FIGURE_NAME_BYTES = 64, FIGURE_NOTE_BYTES = 96 };

struct figure {
	char name[FIGURE_NAME_BYTES];
	double samples[FIGURE_SAMPLES_MAX]; /* ascending once figures_print_*() has been called */
	size_t count;                       /* 0: not measured */
	char note[FIGURE_NOTE_BYTES];       /* why not; "" otherwise */
};

struct figures {
	struct figure each[FIGURES_MAX]; /* in the order in which they were first named */
	size_t count;
};

/** Add a sample to the figure called @name; at most FIGURE_SAMPLES_MAX. */
void figures_add(struct figures *figures, const char *name, double sample);

/** Say that @name was not measured, and why. */
void figures_skip(struct figures *figures, const char *name, const char *note);

/** A line a figure: median, least … greatest, how many. 0, or -EIO. */
int figures_print_text(struct figures *figures, FILE *out);

/**
 * One object: the medians, null for what was not measured; the same tree again with the least of
 * each under "min" and the greatest under "max"; and under "notes" why something is null. Figures
 * that share a part of their names must have been named one after the other. 0, or -EIO.
 */
int figures_print_json(struct figures *figures, FILE *out);

#endif
