#ifndef EXECUTORS_TIMER_HEAP_H
#define EXECUTORS_TIMER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Timers in the order in which they are due: an intrusive 4-ary heap.
 *
 * Embed a struct timer in the object that waits and get back to the object
 * with offsetof. Four children rather than two halve the depth, and the four
 * share about one cache line, since the heap keeps the times beside the pointers.
 *
 * Not locked: a heap belongs to one thread, or its owner guards it. Timers that
 * are due at the same moment come out in any order.
 */

/** Zeroed means "not in a heap". Owned by the caller, borrowed while in a heap. */
struct timer {
	int64_t when_ns; /* the caller's, on any clock; read only by timer_heap_add() */
	unsigned slot;   /* the heap's: 1 + its place there, 0 outside */
};

struct timer_heap_entry {
	int64_t when_ns;
	struct timer *timer;
};

/** Zeroed is an empty heap. */
struct timer_heap {
	struct timer_heap_entry *entries; /* owned; grows by doubling, never shrinks */
	unsigned count;
	unsigned capacity; /* entries allocated */
};

void timer_heap_init(struct timer_heap *heap);

/** Free the heap's memory. Timers still in it are forgotten, not marked as outside. */
void timer_heap_finish(struct timer_heap *heap);

/**
 * Make sure that @count timers in all fit, so that adding them cannot fail.
 * Returns 0; -ENOMEM, with the heap as it was.
 */
int timer_heap_reserve(struct timer_heap *heap, unsigned count);

/**
 * Put @timer in at its when_ns. It must be outside of every heap; to move it, remove it first.
 * Returns 0; -ENOMEM, with @timer still outside.
 */
int timer_heap_add(struct timer_heap *heap, struct timer *timer);

/** Take @timer out, wherever it stands. Does nothing to one that is outside. */
void timer_heap_remove(struct timer_heap *heap, struct timer *timer);

/** The timer due earliest, still in the heap; NULL when there is none. */
struct timer *timer_heap_first(const struct timer_heap *heap);

static inline bool timer_is_queued(const struct timer *timer)
{
	return timer->slot != 0;
}

#endif
