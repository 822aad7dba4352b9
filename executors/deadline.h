#ifndef EXECUTORS_DEADLINE_H
#define EXECUTORS_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Points in time on CLOCK_MONOTONIC.
 *
 * Every call that can block takes a deadline, never a timeout: a deadline is
 * handed down a call chain unchanged, while a timeout has to be shortened by
 * hand at each step. A struct, so that no plain integer (a duration, say) is
 * passed by mistake.
 */
struct deadline {
	int64_t ns;
};

#define DEADLINE_NEVER ((struct deadline){INT64_MAX})

/** The moment @ms milliseconds from now; a negative count is now. Saturates at DEADLINE_NEVER. */
struct deadline deadline_in_ms(int64_t ms);

/** The moment @ns nanoseconds from now; a negative count is now. Saturates at DEADLINE_NEVER. */
struct deadline deadline_in_ns(int64_t ns);

/** CLOCK_MONOTONIC now, in nanoseconds. */
int64_t deadline_now_ns(void);

/** Nanoseconds left; 0 once passed. INT64_MAX for DEADLINE_NEVER. */
int64_t deadline_remaining_ns(struct deadline deadline);

/** For poll(2): milliseconds left, rounded up; -1 for DEADLINE_NEVER. */
int deadline_remaining_ms(struct deadline deadline);

static inline struct deadline deadline_earlier(struct deadline a, struct deadline b)
{
	return a.ns < b.ns ? a : b;
}

#endif
