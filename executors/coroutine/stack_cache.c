#include "executors/coroutine/stack_cache.h"

/* Measuring takes about 1 us. */
#define MEASURED_ONE_IN 256

#define KEPT_BYTES ((size_t)32 << 10)

void stack_cache_init(struct stack_cache *cache, struct stack_pool *pool)
{
	*cache = (struct stack_cache){.pool = pool};
}

static void give_back(struct stack_cache *cache, struct stack *batch, unsigned count)
{
	if (!batch)
		return;
	batch->batch_count = count;
	stack_pool_put_batch(cache->pool, batch);
}

void stack_cache_empty(struct stack_cache *cache)
{
	give_back(cache, cache->full, STACK_BATCH);
	give_back(cache, cache->loaded, cache->count);
	cache->full = cache->loaded = NULL;
	cache->count = 0;
}

static void refill(struct stack_cache *cache)
{
	if (cache->full) {
		cache->loaded = cache->full;
		cache->count = STACK_BATCH;
		cache->full = NULL;
		return;
	}
	cache->loaded = stack_pool_get_batch(cache->pool);
	cache->count = cache->loaded ? cache->loaded->batch_count : 0;
}

struct stack *stack_cache_get(struct stack_cache *cache)
{
	struct stack *stack;

	if (!cache->loaded)
		refill(cache);
	stack = cache->loaded;
	if (stack) {
		cache->loaded = stack->next;
		cache->count--;
	}
	return stack;
}

static void measure(struct stack_cache *cache, struct stack *stack)
{
	bool deep = stack_pool_note_use(cache->pool, stack) > KEPT_BYTES;

	cache->until_measured = MEASURED_ONE_IN;
	if (deep) {
		stack_pool_trim(cache->pool, stack, KEPT_BYTES);
		cache->suspects = STACK_BATCH;
	} else if (cache->suspects > 0) {
		cache->suspects--;
	}
}

void stack_cache_put(struct stack_cache *cache, struct stack *stack)
{
	if (cache->until_measured == 0 || cache->suspects > 0)
		measure(cache, stack);
	cache->until_measured--;
	if (cache->count == STACK_BATCH) {
		give_back(cache, cache->full, STACK_BATCH);
		cache->full = cache->loaded;
		cache->loaded = NULL;
		cache->count = 0;
	}
	stack->next = cache->loaded;
	cache->loaded = stack;
	cache->count++;
}
