#ifndef EXECUTORS_COROUTINE_STACK_POOL_H
#define EXECUTORS_COROUTINE_STACK_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "executors/coroutine/stack_guard.h"

/*
 * Memory for the stacks of coroutines, in slots of one size cut from large
 * address ranges that are reserved without being committed: a slot costs the
 * pages it has touched. The lowest page of each is its guard.
 *
 * Stacks move in batches between the pool and the carriers, who keep some at
 * hand (stack_cache.h), so that the pool's lock is rarely taken and never for
 * long. No address range is returned to the system before the pool ends.
 */

/**
 * A stack. This struct stands near the top of its slot; the stack is what lies below it, from
 * @low. The distance to the slot's end differs from one to the next, so that the tops of many
 * stacks do not all compete for the same few sets of a cache.
 */
struct stack {
	struct stack *next;       /* of the same batch, or in a list of the holder's */
	struct stack *next_batch; /* pool->lock; first of a batch only */
	char *low;                /* lowest byte that may be used; the guard ends here */
	unsigned batch_count;     /* stacks in the batch; first of a batch only */
	enum stack_guard guard;   /* what it has */
};

struct stack_pool_options {
	size_t slot_bytes; /* rounded up to whole pages; at least three */
	enum stack_guard guard;
	const struct stack_system *system; /* NULL: the system's own */
};

struct stack_pool {
	size_t slot_bytes;    /* constant; a multiple of the page size */
	unsigned range_slots; /* constant; a multiple of STACK_BATCH */
	struct stack_guards guards;

	pthread_mutex_t lock;
	struct stack_range *ranges; /* lock */
	struct stack *free;         /* lock; batches, the last put first */

	/* Statistics, relaxed. */
	atomic_uint guarded[STACK_GUARD_KINDS]; /* slots there are, by how they are guarded */
	atomic_size_t high_water_bytes;         /* see stack_pool_note_use() */
};

/** Returns 0, or -EOPNOTSUPP: this kernel has no such guard. */
int stack_pool_init(struct stack_pool *pool, const struct stack_pool_options *options);

/** All stacks are back, or will never be used again. */
void stack_pool_finish(struct stack_pool *pool);

/**
 * Take a batch, linked by @next: 1 to STACK_BATCH stacks, @batch_count of the first. Any thread.
 * Returns NULL when the system refuses memory.
 */
struct stack *stack_pool_get_batch(struct stack_pool *pool);

/** Give back a batch, linked by @next, with @batch_count of the first set. Any thread. */
void stack_pool_put_batch(struct stack_pool *pool, struct stack *batch);

/** Whether nothing was written below @stack, as far as its guard can tell: see stack_guard.h.
 * The holder only, with nothing running on it. */
static inline bool stack_is_intact(const struct stack_pool *pool, const struct stack *stack)
{
	size_t page_bytes = pool->guards.page_bytes;

	return stack->guard != STACK_GUARD_CANARY ||
	       stack_guard_canary_is_intact(stack->low - page_bytes, page_bytes);
}

/**
 * How far down from its slot's end @stack has been used, in whole pages, since its deep pages
 * were last released; counts for @high_water_bytes. A system call. The holder only.
 */
size_t stack_pool_note_use(struct stack_pool *pool, const struct stack *stack);

/** Return to the system what @stack holds more than @kept_bytes below its slot's end. The holder
 * only, with nothing running on it. */
void stack_pool_trim(struct stack_pool *pool, struct stack *stack, size_t kept_bytes);

/** Fill in what @out says of stacks. Any thread. */
void stack_pool_stats(struct stack_pool *pool, struct executor_stats *out);

#endif
