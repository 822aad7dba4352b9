#ifndef EXECUTORS_COROUTINE_STACK_POOL_H
#define EXECUTORS_COROUTINE_STACK_POOL_H

#include <pthread.h>
#include <stddef.h>

/*
 * Memory for the stacks of coroutines, in slots of one size cut from large
 * address ranges that are reserved without being committed: a slot costs the
 * pages it has touched. The lowest page of each is a guard, so that an overflow
 * faults instead of corrupting its neighbour.
 *
 * Slots go out last in, first out: the warmest first. Nothing is returned to the
 * system before the pool ends.
 */
struct stack_pool {
	pthread_mutex_t lock;
	size_t slot_bytes;          /* constant; a multiple of the page size */
	struct stack_range *ranges; /* lock */
	struct stack_slot *free;    /* lock */
};

/** @slot_bytes is rounded up to whole pages; at least three. */
void stack_pool_init(struct stack_pool *pool, size_t slot_bytes);

/** All slots are back, or will never be used again. */
void stack_pool_finish(struct stack_pool *pool);

/** Bytes at the low end of a slot that must not be touched. */
size_t stack_pool_guard_bytes(void);

/**
 * Take a slot. Any thread.
 *
 * Returns its lowest address, the guard's; NULL when the system refuses memory
 * or, where each guard needs a mapping of its own (before Linux 6.13),
 * vm.max_map_count is reached.
 */
void *stack_pool_get(struct stack_pool *pool);

/** Give @slot back. Any thread. */
void stack_pool_put(struct stack_pool *pool, void *slot);

#endif
