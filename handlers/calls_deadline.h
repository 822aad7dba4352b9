#ifndef HANDLERS_CALLS_DEADLINE_H
#define HANDLERS_CALLS_DEADLINE_H

#include <stddef.h>
#include <stdint.h>

#include "executors/deadline.h"

/** The two ends of a list of calls. */
struct calls_deadlines {
	struct deadline calls;  /* no call lasts longer */
	struct deadline answer; /* and by then the client has the answer */
};

/**
 * The deadlines of a list of @count calls that arrived at @arrival_ns of CLOCK_MONOTONIC and has
 * @deadline_ms. What is kept in reserve to end what is under way, print and send is a tenth of it,
 * at most 50 ms, and 20 µs for each call; but no more than half.
 */
struct calls_deadlines calls_deadlines(int64_t arrival_ns, int64_t deadline_ms, size_t count);

#endif
