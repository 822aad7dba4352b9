#ifndef CLIENTS_LATENCY_WINDOW_H
#define CLIENTS_LATENCY_WINDOW_H

#include <stdint.h>

/*
 * How long calls have taken of late: counts by duration, in classes that are a
 * sixteenth of it wide, from two periods of which the newer is still being filled.
 * A period ends after LATENCY_PERIOD_NS, if it has some calls by then, or with
 * LATENCY_PERIOD_CALLS.
 *
 * Without clock or lock: the caller brings the time, and guards it.
 */
enum {
	LATENCY_CLASSES_PER_OCTAVE = 16,
	LATENCY_OCTAVES =
		28, /* from 1 us to over four minutes; what is outside is put at the ends */
	LATENCY_CLASSES = LATENCY_CLASSES_PER_OCTAVE * LATENCY_OCTAVES,
	LATENCY_PERIOD_CALLS = 2000,
	LATENCY_PERIOD_LEAST = 20,
};

#define LATENCY_PERIOD_NS INT64_C(10000000000)

/** Zero it first. */
struct latency_window {
	uint32_t counts[2][LATENCY_CLASSES]; /* by period */
	uint32_t totals[2];
	unsigned newer;   /* the index of the newer period */
	int64_t began_ns; /* when that began */
};

void latency_window_add(struct latency_window *window, int64_t now_ns, int64_t took_ns);

/** Calls in it. */
uint32_t latency_window_count(const struct latency_window *window);

/**
 * The upper end of the class of the call that is @rank-th when they are sorted, 1 … count: @rank of
 * them took no longer than this. In nanoseconds.
 */
int64_t latency_window_at_rank(const struct latency_window *window, uint32_t rank);

/** That of the nearest rank of @percent, 1 … 100; 0 if there is no call. */
int64_t latency_window_percentile(const struct latency_window *window, unsigned percent);

#endif
