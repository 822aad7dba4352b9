#ifndef CLIENTS_RECENT_COUNTS_H
#define CLIENTS_RECENT_COUNTS_H

#include <stdint.h>

/*
 * How many calls there were of late, and how many others of one kind beside them (errors,
 * retries): in the last ten slots of time, whose length is the caller's to say.
 *
 * Without clock or lock: the caller brings the time, and guards it.
 */
enum { RECENT_SLOTS = 10 };

/** Zero it first. */
struct recent_counts {
	int64_t slot; /* the last one, counted from the clock's zero */
	unsigned calls[RECENT_SLOTS], others[RECENT_SLOTS]; /* by slot modulo their number */
	uint64_t all_calls, all_others;                     /* the sums of these */
};

/** It is @slot: forget what is too old by now. Threads come with their times in any order: an
 * earlier slot counts as the last one, here and below. */
void recent_counts_move_to(struct recent_counts *counts, int64_t slot);

/** Count so many in @slot. */
void recent_counts_add(struct recent_counts *counts, int64_t slot, unsigned calls, unsigned others);

#endif
