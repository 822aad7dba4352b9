#include "executors/coroutine/stack_pool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define RANGE_BYTES ((size_t)16 << 20)

/* Tops lie at this many distances, this far apart, from the ends of their slots. With what stands
 * there and a small task's frames that is less than a page. */
#define COLOURS 16
#define COLOUR_BYTES 64

/* One reserved address range. Its slots are given out from the start as they are first needed. */
struct stack_range {
	struct stack_range *next;
	char *memory;
	unsigned used; /* slots that have been given out at least once */
};

int stack_pool_init(struct stack_pool *pool, const struct stack_pool_options *options)
{
	struct stack_guards guards;
	size_t page, slot_bytes, range_slots;
	int error = stack_guards_init(&guards, options->guard,
	                              options->system ? options->system : &stack_system_calls);

	if (error < 0)
		return error;
	page = guards.page_bytes;
	slot_bytes = (options->slot_bytes + page - 1) / page * page;
	if (slot_bytes < 3 * page)
		slot_bytes = 3 * page;
	range_slots = RANGE_BYTES / slot_bytes / STACK_BATCH * STACK_BATCH;
	*pool = (struct stack_pool){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.slot_bytes = slot_bytes,
		.range_slots = range_slots ? (unsigned)range_slots : STACK_BATCH,
		.guards = guards,
	};
	return 0;
}

void stack_pool_finish(struct stack_pool *pool)
{
	struct stack_range *range;

	while ((range = pool->ranges)) {
		pool->ranges = range->next;
		(void)munmap(range->memory, pool->range_slots * pool->slot_bytes);
		free(range);
	}
	stack_guards_finish(&pool->guards);
	pthread_mutex_destroy(&pool->lock);
}

static struct stack_range *range_add_locked(struct stack_pool *pool)
{
	const struct stack_system *system = pool->guards.system;
	size_t bytes = pool->range_slots * pool->slot_bytes;
	struct stack_range *range = calloc(1, sizeof(*range));

	if (!range)
		return NULL;
	range->memory =
		system->mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (range->memory == MAP_FAILED) {
		free(range);
		return NULL;
	}
	/* A huge page under a stack would commit 32 neighbours with the first touch of one. */
	(void)system->madvise(range->memory, bytes, MADV_NOHUGEPAGE);
	range->next = pool->ranges;
	pool->ranges = range;
	return range;
}

/* STACK_BATCH slots that have never been used, or NULL. */
static char *slots_carve_locked(struct stack_pool *pool)
{
	struct stack_range *range = pool->ranges;
	char *slots;

	if (!range || range->used == pool->range_slots)
		range = range_add_locked(pool);
	if (!range)
		return NULL;
	slots = range->memory + range->used * pool->slot_bytes;
	range->used += STACK_BATCH;
	return slots;
}

static struct stack *batch_make(struct stack_pool *pool, char *slots)
{
	size_t page = pool->guards.page_bytes;
	char *guards[STACK_BATCH], *tops[STACK_BATCH];
	enum stack_guard kinds[STACK_BATCH];
	struct stack *next = NULL;

	for (unsigned i = 0; i < STACK_BATCH; i++) {
		guards[i] = slots + i * pool->slot_bytes;
		tops[i] = guards[i] + pool->slot_bytes - page;
	}
	stack_guards_install(&pool->guards, guards, STACK_BATCH, kinds);
	stack_guards_populate(&pool->guards, tops, STACK_BATCH);
	for (unsigned i = STACK_BATCH; i-- > 0;) {
		struct stack *stack =
			(struct stack *)(tops[i] + page - (size_t)(i % COLOURS) * COLOUR_BYTES) - 1;

		*stack = (struct stack){.next = next, .low = guards[i] + page, .guard = kinds[i]};
		next = stack;
		atomic_fetch_add_explicit(&pool->guarded[kinds[i]], 1, memory_order_relaxed);
	}
	next->batch_count = STACK_BATCH;
	return next;
}

struct stack *stack_pool_get_batch(struct stack_pool *pool)
{
	struct stack *batch;
	char *slots = NULL;

	pthread_mutex_lock(&pool->lock);
	batch = pool->free;
	if (batch)
		pool->free = batch->next_batch;
	else
		slots = slots_carve_locked(pool);
	pthread_mutex_unlock(&pool->lock);
	return slots ? batch_make(pool, slots) : batch;
}

void stack_pool_put_batch(struct stack_pool *pool, struct stack *batch)
{
	pthread_mutex_lock(&pool->lock);
	batch->next_batch = pool->free;
	pool->free = batch;
	pthread_mutex_unlock(&pool->lock);
}

static char *slot_end(const struct stack_pool *pool, const struct stack *stack)
{
	return stack->low - pool->guards.page_bytes + pool->slot_bytes;
}

/* The lowest page of @stack that has memory. */
static char *lowest_resident(const struct stack_pool *pool, const struct stack *stack)
{
	size_t page = pool->guards.page_bytes;
	char *end = slot_end(pool, stack);
	unsigned char resident[256];

	for (char *at = stack->low; at < end; at += sizeof(resident) * page) {
		size_t pages = (size_t)(end - at) / page;

		if (pages > sizeof(resident))
			pages = sizeof(resident);
		if (mincore(at, pages * page, resident) < 0)
			return end;
		for (size_t i = 0; i < pages; i++)
			if (resident[i] & 1)
				return at + i * page;
	}
	return end;
}

size_t stack_pool_note_use(struct stack_pool *pool, const struct stack *stack)
{
	size_t used = (size_t)(slot_end(pool, stack) - lowest_resident(pool, stack));
	size_t most = atomic_load_explicit(&pool->high_water_bytes, memory_order_relaxed);

	while (used > most &&
	       !atomic_compare_exchange_weak_explicit(&pool->high_water_bytes, &most, used,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
	return used;
}

void stack_pool_trim(struct stack_pool *pool, struct stack *stack, size_t kept_bytes)
{
	size_t all_bytes = (size_t)(slot_end(pool, stack) - stack->low);

	if (kept_bytes < all_bytes)
		(void)pool->guards.system->madvise(stack->low, all_bytes - kept_bytes,
		                                   MADV_DONTNEED);
}

void stack_pool_stats(struct stack_pool *pool, struct executor_stats *out)
{
	enum stack_guard kind = atomic_load_explicit(&pool->guards.kind, memory_order_relaxed);

	out->stack_guard = stack_guard_name(kind);
	for (unsigned i = 0; i < STACK_GUARD_KINDS; i++)
		out->stacks[i] = atomic_load_explicit(&pool->guarded[i], memory_order_relaxed);
	out->stack_high_water_bytes =
		atomic_load_explicit(&pool->high_water_bytes, memory_order_relaxed);
}
