#ifndef EXECUTORS_COROUTINE_STACK_CACHE_H
#define EXECUTORS_COROUTINE_STACK_CACHE_H

#include "executors/coroutine/stack_pool.h"

/*
 * The free stacks that a carrier keeps at hand: last in, first out, the warmest
 * first. Up to two batches, so that a task that comes and goes at the edge of one
 * does not go to the pool each time (the magazines of Bonwick and Adams,
 * "Magazines and Vmem", USENIX 2001).
 *
 * A few of the stacks given back are measured, the first among them. Where one
 * has used more than 32 KiB, what lies deeper is returned to the system, and those
 * that come after it are looked at, too.
 *
 * Whoever owns the carrier only.
 */
struct stack_cache {
	struct stack_pool *pool; /* constant */
	struct stack *loaded;    /* linked by @next */
	unsigned count;          /* of @loaded, at most STACK_BATCH */
	struct stack *full;      /* a whole batch, or NULL */
	unsigned until_measured; /* stacks that may come back before one is measured */
	unsigned suspects;       /* stacks to be measured whatever @until_measured says */
};

void stack_cache_init(struct stack_cache *cache, struct stack_pool *pool);

/** Give everything back to the pool. May be used again after it. */
void stack_cache_empty(struct stack_cache *cache);

/** Returns NULL when the system refuses memory. */
struct stack *stack_cache_get(struct stack_cache *cache);

/** Nothing runs on @stack any more. */
void stack_cache_put(struct stack_cache *cache, struct stack *stack);

#endif
