#ifndef EXECUTORS_MEMORY_BUDGET_H
#define EXECUTORS_MEMORY_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * How much memory all work in progress may take together. Who begins some takes what it
 * will need at most, as an estimate, and gives that back at the end; what does not fit is not
 * begun. Nothing is allocated here.
 *
 * The four are relaxed: each counts by itself, and whoever has taken memory orders its use by other
 * means. Where there is no limit nothing is counted, so that it costs one read.
 */
struct memory_budget {
	atomic_size_t room_bytes;  /* for all together; SIZE_MAX: no limit */
	atomic_size_t limit_bytes; /* what the room is a part of, to tell users */
	atomic_size_t taken_bytes;
	atomic_ullong refused; /* how often */
};

/** No limit yet. */
void memory_budget_init(struct memory_budget *budget);

/**
 * Change the limit, of @limit_bytes in all, of which @room_bytes are for work; SIZE_MAX: none. What
 * has been taken stays so, also if it is more. Any thread.
 */
void memory_budget_set(struct memory_budget *budget, size_t limit_bytes, size_t room_bytes);

/**
 * Take @bytes. True: they, or without a limit none, are in *@taken, for memory_budget_give().
 * False: there is no room, and *@taken is 0. Any thread; never waits.
 */
bool memory_budget_take(struct memory_budget *budget, size_t bytes, size_t *taken);

/** Give back what memory_budget_take() has left in its @taken. */
void memory_budget_give(struct memory_budget *budget, size_t taken);

/** What could be taken now; SIZE_MAX without a limit. */
size_t memory_budget_left(const struct memory_budget *budget);

#endif
