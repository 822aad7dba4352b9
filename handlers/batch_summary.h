#ifndef HANDLERS_BATCH_SUMMARY_H
#define HANDLERS_BATCH_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/batch.h"

/** What became of the children of a batch, in numbers. */
struct batch_summary {
	size_t requested;
	size_t ok;                             /* whole replies with a 2xx status, or work done */
	size_t whole;                          /* the same with any status */
	size_t errors[BATCH_OUTCOMES];         /* children by outcome; [HTTP_OK] equals @whole */
	unsigned statuses[BATCH_STATUS_LIMIT]; /* whole replies by status */
	int64_t elapsed_ns[];                  /* @whole of them, ascending */
};

/** What batch_summary_create() allocates, and sorting on top. */
uint64_t batch_summary_bytes(size_t count);

/** For @count children; to be freed with free(). NULL: no memory. */
struct batch_summary *batch_summary_create(size_t count);

/** Count the children, all of which have their outcome. As many as the summary was made for. */
void batch_summary_fill(struct batch_summary *summary, const struct batch *batch);

/** Not one child succeeded, and each was turned away for lack of room: the answer is a 503. */
bool batch_summary_is_overload(const struct batch_summary *summary);

/**
 * The nearest-rank percentile of @count values in ascending order, at least one: the smallest
 * value that at least @percent % of them, 0 … 100, do not exceed.
 */
int64_t nearest_rank(const int64_t *sorted, size_t count, unsigned percent);

/** @part of @whole, not 0, in tenths of a percent, to the nearest; but 1000 means all, and 0 none.
 */
uint64_t tenths_of_percent(uint64_t part, uint64_t whole);

#endif
