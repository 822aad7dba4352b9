#include "executors/coroutine/stack_pool.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 6.13: a guard without a mapping of its own. include/uapi/asm-generic/mman-common.h */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define RANGE_SLOTS 64

/* One reserved address range. Its slots are given out from the start as they are first needed. */
struct stack_range {
	struct stack_range *next;
	char *memory;
	unsigned used; /* slots that have been given out at least once */
};

/* Stands in the last bytes of a free slot: that page has been touched, the others perhaps not. */
struct stack_slot {
	struct stack_slot *next;
	void *slot;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t stack_pool_guard_bytes(void)
{
	return page_bytes();
}

void stack_pool_init(struct stack_pool *pool, size_t slot_bytes)
{
	size_t page = page_bytes();

	*pool = (struct stack_pool){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.slot_bytes = (slot_bytes + page - 1) / page * page,
	};
	if (pool->slot_bytes < 3 * page)
		pool->slot_bytes = 3 * page;
}

void stack_pool_finish(struct stack_pool *pool)
{
	struct stack_range *range;

	while ((range = pool->ranges)) {
		pool->ranges = range->next;
		(void)munmap(range->memory, RANGE_SLOTS * pool->slot_bytes);
		free(range);
	}
	pthread_mutex_destroy(&pool->lock);
}

static struct stack_range *range_add_locked(struct stack_pool *pool)
{
	size_t bytes = RANGE_SLOTS * pool->slot_bytes;
	struct stack_range *range = calloc(1, sizeof(*range));

	if (!range)
		return NULL;
	range->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (range->memory == MAP_FAILED) {
		free(range);
		return NULL;
	}
	/* A huge page under a stack would commit 32 neighbours with the first touch of one. */
	(void)madvise(range->memory, bytes, MADV_NOHUGEPAGE);
	range->next = pool->ranges;
	pool->ranges = range;
	return range;
}

static bool slot_guard(char *slot)
{
	return madvise(slot, stack_pool_guard_bytes(), MADV_GUARD_INSTALL) == 0 ||
	       mprotect(slot, stack_pool_guard_bytes(), PROT_NONE) == 0;
}

static void *slot_new_locked(struct stack_pool *pool)
{
	struct stack_range *range = pool->ranges;
	char *slot;

	if (!range || range->used == RANGE_SLOTS)
		range = range_add_locked(pool);
	if (!range)
		return NULL;
	slot = range->memory + range->used * pool->slot_bytes;
	if (!slot_guard(slot))
		return NULL;
	range->used++;
	return slot;
}

void *stack_pool_get(struct stack_pool *pool)
{
	struct stack_slot *free_slot;
	void *slot;

	pthread_mutex_lock(&pool->lock);
	free_slot = pool->free;
	if (free_slot) {
		pool->free = free_slot->next;
		slot = free_slot->slot;
	} else {
		slot = slot_new_locked(pool);
	}
	pthread_mutex_unlock(&pool->lock);
	return slot;
}

void stack_pool_put(struct stack_pool *pool, void *slot)
{
	struct stack_slot *free_slot = (struct stack_slot *)((char *)slot + pool->slot_bytes) - 1;

	pthread_mutex_lock(&pool->lock);
	*free_slot = (struct stack_slot){.next = pool->free, .slot = slot};
	pool->free = free_slot;
	pthread_mutex_unlock(&pool->lock);
}
