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
 * Estimates do not know what was used before and is kept for the next: stacks, connections. Work
 * that uses none of that again asks what is really in use, too: memory_budget_keep().
 *
 * The atomics are relaxed: each counts by itself, and whoever has taken memory orders its use by
 * other means. Where there is no limit nothing is counted, so that it costs one read.
 */
struct memory_budget {
	atomic_size_t room_bytes;  /* for all together; SIZE_MAX: no limit */
	atomic_size_t limit_bytes; /* what the room is a part of, to tell users */
	atomic_size_t taken_bytes;
	atomic_size_t kept_bytes; /* of memory_budget_keep() */
	atomic_size_t file_bytes; /* of what the kernel says is in use, those that it can drop */
	atomic_ullong refused;    /* how often */
	int usage_fd;             /* owned; where the kernel says what is in use. -1: nowhere */
};

/** No limit yet. */
void memory_budget_init(struct memory_budget *budget);

void memory_budget_finish(struct memory_budget *budget);

/** Have @usage_fd, which is consumed, tell what is in use; it may take the place of another one.
 * One thread at a time. */
void memory_budget_measure_by(struct memory_budget *budget, int usage_fd);

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

/**
 * Mark @bytes that were taken as of no use to later work, if so many are really free, a twentieth
 * of the limit and what others have marked not counted. True: to be undone by
 * memory_budget_unkeep(). Any thread; reads a file of the kernel's.
 */
bool memory_budget_keep(struct memory_budget *budget, size_t bytes);

void memory_budget_unkeep(struct memory_budget *budget, size_t bytes);

/** What could be taken now; SIZE_MAX without a limit. */
size_t memory_budget_left(const struct memory_budget *budget);

#endif
