#include "executors/timer_heap.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

enum { CHILDREN = 4, FIRST_CAPACITY = 16 };

void timer_heap_init(struct timer_heap *heap)
{
	*heap = (struct timer_heap){0};
}

void timer_heap_finish(struct timer_heap *heap)
{
	free(heap->entries);
	timer_heap_init(heap);
}

int timer_heap_reserve(struct timer_heap *heap, unsigned count)
{
	struct timer_heap_entry *entries;

	if (count <= heap->capacity)
		return 0;
	/* By doubling, so that reserving one more each time does not copy each time. */
	if (heap->capacity <= UINT_MAX / 2 && count < heap->capacity * 2)
		count = heap->capacity * 2;
	entries = reallocarray(heap->entries, count, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	heap->entries = entries;
	heap->capacity = count;
	return 0;
}

static int grow(struct timer_heap *heap)
{
	if (heap->capacity == 0)
		return timer_heap_reserve(heap, FIRST_CAPACITY);
	if (heap->capacity > UINT_MAX / 2)
		return -ENOMEM;
	return timer_heap_reserve(heap, heap->capacity * 2);
}

static void place(struct timer_heap *heap, unsigned at, struct timer_heap_entry entry)
{
	heap->entries[at] = entry;
	entry.timer->slot = at + 1;
}

/* Put @entry at or above the hole @at, moving later ancestors down. */
static void sift_up(struct timer_heap *heap, unsigned at, struct timer_heap_entry entry)
{
	while (at > 0) {
		unsigned parent = (at - 1) / CHILDREN;

		if (heap->entries[parent].when_ns <= entry.when_ns)
			break;
		place(heap, at, heap->entries[parent]);
		at = parent;
	}
	place(heap, at, entry);
}

/* The earliest child of @at; @at itself when it has none. */
static unsigned earliest_child(const struct timer_heap *heap, unsigned at)
{
	size_t first = (size_t)at * CHILDREN + 1;
	size_t end = first + CHILDREN;
	size_t best = first;

	if (first >= heap->count)
		return at;
	if (end > heap->count)
		end = heap->count;
	for (size_t child = first + 1; child < end; child++)
		if (heap->entries[child].when_ns < heap->entries[best].when_ns)
			best = child;
	return (unsigned)best;
}

/* Put @entry at or below the hole @at, moving earlier children up. */
static void sift_down(struct timer_heap *heap, unsigned at, struct timer_heap_entry entry)
{
	for (;;) {
		unsigned child = earliest_child(heap, at);

		if (child == at || heap->entries[child].when_ns >= entry.when_ns)
			break;
		place(heap, at, heap->entries[child]);
		at = child;
	}
	place(heap, at, entry);
}

int timer_heap_add(struct timer_heap *heap, struct timer *timer)
{
	int error;

	assert(timer->slot == 0);
	if (heap->count == heap->capacity) {
		error = grow(heap);
		if (error)
			return error;
	}
	sift_up(heap, heap->count++, (struct timer_heap_entry){timer->when_ns, timer});
	return 0;
}

void timer_heap_remove(struct timer_heap *heap, struct timer *timer)
{
	struct timer_heap_entry last;
	unsigned hole;

	if (timer->slot == 0)
		return;
	hole = timer->slot - 1;
	assert(hole < heap->count && heap->entries[hole].timer == timer);
	timer->slot = 0;
	last = heap->entries[--heap->count];
	if (hole == heap->count)
		return;
	/* The last entry comes from another branch: it may belong above the hole or below it. */
	if (hole > 0 && last.when_ns < heap->entries[(hole - 1) / CHILDREN].when_ns)
		sift_up(heap, hole, last);
	else
		sift_down(heap, hole, last);
}

struct timer *timer_heap_first(const struct timer_heap *heap)
{
	return heap->count > 0 ? heap->entries[0].timer : NULL;
}
