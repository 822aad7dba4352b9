#ifndef HANDLERS_FANOUT_SUMMARY_H
#define HANDLERS_FANOUT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/fanout_calls.h"

/** What the calls of one /fanout came to, in numbers. */
struct fanout_summary {
	size_t requested;
	size_t ok;                              /* whole replies with a 2xx status */
	size_t whole;                           /* whole replies with any status */
	size_t errors[FANOUT_OUTCOMES];         /* calls by outcome; [HTTP_OK] equals @whole */
	unsigned statuses[FANOUT_STATUS_LIMIT]; /* whole replies by status */
	int64_t elapsed_ns[];                   /* @whole of them, ascending */
};

/** What fanout_summary_create() allocates, and sorting on top. */
uint64_t fanout_summary_bytes(size_t count);

/** For @count calls; to be freed with free(). NULL: no memory. */
struct fanout_summary *fanout_summary_create(size_t count);

/** Count @calls, all of which have their outcome. As many as the summary was made for. */
void fanout_summary_fill(struct fanout_summary *summary, const struct fanout_calls *calls);

/** Not one call succeeded, and each was turned away for lack of room: the answer is a 503. */
bool fanout_summary_is_overload(const struct fanout_summary *summary);

/**
 * The nearest-rank percentile of @count values in ascending order, at least one: the smallest
 * value that at least @percent % of them, 0 … 100, do not exceed.
 */
int64_t nearest_rank(const int64_t *sorted, size_t count, unsigned percent);

#endif
