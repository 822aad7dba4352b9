#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "executors/coroutine/stack_cache.h"
#include "tests/with_cmocka.h"

enum { SLOT_BYTES = 64 * 1024, BATCHES = 20 };

static struct stack_pool pool;

static void start(enum stack_guard guard)
{
	struct stack_pool_options options = {.slot_bytes = SLOT_BYTES, .guard = guard};

	assert_int_equal(stack_pool_init(&pool, &options), 0);
}

/* The kernel says without a fault whether memory may be read. */
static bool is_readable(const void *address)
{
	int ends[2];
	bool readable;

	assert_int_equal(pipe(ends), 0);
	readable = write(ends[1], address, 1) == 1;
	assert_true(readable || errno == EFAULT);
	close(ends[0]);
	close(ends[1]);
	return readable;
}

static void fill(struct stack *stack, int value)
{
	memset(stack->low, value, (size_t)((char *)stack - stack->low));
}

static void check_guards_and_use(enum stack_guard guard)
{
	struct stack *batches[BATCHES];

	for (size_t i = 0; i < BATCHES; i++) {
		batches[i] = stack_pool_get_batch(&pool);
		assert_non_null(batches[i]);
		assert_int_equal(batches[i]->batch_count, STACK_BATCH);
		for (struct stack *stack = batches[i]; stack; stack = stack->next)
			fill(stack, (int)i);
	}
	for (size_t i = 0; i < BATCHES; i++)
		for (struct stack *stack = batches[i]; stack; stack = stack->next) {
			assert_int_equal(stack->guard, guard);
			assert_int_equal(is_readable(stack->low - 1), guard == STACK_GUARD_CANARY);
			assert_true(stack_is_intact(&pool, stack));
			assert_int_equal(*stack->low, i);
			assert_int_equal(((char *)stack)[-1], i);
		}
	stack_pool_finish(&pool);
}

static void each_stack_has_a_guard_below_and_is_usable_to_its_end(void **state)
{
	(void)state;
	start(STACK_GUARD_MPROTECT);
	check_guards_and_use(STACK_GUARD_MPROTECT);
	start(STACK_GUARD_CANARY);
	check_guards_and_use(STACK_GUARD_CANARY);
	start(STACK_GUARD_AUTO);
	check_guards_and_use(pool.guards.kind);
}

static void a_write_below_a_stack_is_found_by_its_canary(void **state)
{
	struct stack *stack;

	(void)state;
	start(STACK_GUARD_CANARY);
	stack = stack_pool_get_batch(&pool);
	assert_true(stack_is_intact(&pool, stack));
	stack->low[-1] = 1;
	assert_false(stack_is_intact(&pool, stack));
	stack->low[-1] = 0;
	stack->low[-(ptrdiff_t)pool.guards.page_bytes] = 1;
	assert_false(stack_is_intact(&pool, stack));
	assert_true(stack_is_intact(&pool, stack->next));
	stack_pool_finish(&pool);
}

static void stacks_are_of_sixteen_colours(void **state)
{
	size_t page;
	unsigned colours = 0;

	(void)state;
	start(STACK_GUARD_AUTO);
	page = pool.guards.page_bytes;
	for (struct stack *stack = stack_pool_get_batch(&pool); stack; stack = stack->next) {
		size_t from_end = page - (uintptr_t)stack % page - sizeof(*stack);

		assert_int_equal(from_end % 64, 0);
		colours |= 1u << from_end / 64;
	}
	assert_int_equal(colours, 0xffff);
	stack_pool_finish(&pool);
}

/* More than the share of mappings of a kernel with the usual vm.max_map_count. */
static void guards_beyond_the_share_of_mappings_are_canaries(void **state)
{
	enum { MANY = 2000 };
	struct executor_stats stats;

	(void)state;
	start(STACK_GUARD_MPROTECT);
	atomic_store(&pool.guards.mappings_left, 1000);
	for (unsigned i = 0; i < MANY / STACK_BATCH; i++)
		assert_non_null(stack_pool_get_batch(&pool));
	stack_pool_stats(&pool, &stats);
	assert_int_equal(stats.stacks[STACK_GUARD_MPROTECT], 500);
	assert_int_equal(stats.stacks[STACK_GUARD_CANARY], MANY - 500);
	assert_string_equal(stats.stack_guard, "canary");
	stack_pool_finish(&pool);
}

static void the_stack_returned_last_comes_back_first(void **state)
{
	struct stack_cache cache;
	struct stack *stacks[5 * STACK_BATCH];
	enum { COUNT = sizeof(stacks) / sizeof(stacks[0]) };

	(void)state;
	start(STACK_GUARD_AUTO);
	stack_cache_init(&cache, &pool);
	for (size_t i = 0; i < COUNT; i++)
		stacks[i] = stack_cache_get(&cache);
	for (size_t i = 0; i < COUNT; i++)
		stack_cache_put(&cache, stacks[i]);
	for (size_t i = COUNT; i-- > 0;)
		assert_ptr_equal(stack_cache_get(&cache), stacks[i]);
	stack_pool_finish(&pool);
}

static void what_one_cache_gives_back_another_gets(void **state)
{
	struct stack_cache one, other;
	struct stack *first, *second;

	(void)state;
	start(STACK_GUARD_AUTO);
	stack_cache_init(&one, &pool);
	stack_cache_init(&other, &pool);
	first = stack_cache_get(&one);
	second = stack_cache_get(&one);
	stack_cache_put(&one, first);
	stack_cache_empty(&one); /* all but the second */
	for (unsigned i = 0; i < STACK_BATCH - 1; i++)
		assert_ptr_not_equal(stack_cache_get(&other), second);
	assert_int_equal(pool.guarded[pool.guards.kind], STACK_BATCH);
	assert_non_null(stack_cache_get(&other));
	assert_int_equal(pool.guarded[pool.guards.kind], 2 * STACK_BATCH);
	stack_pool_finish(&pool);
}

static void deep_pages_are_returned_and_shallow_ones_kept(void **state)
{
	struct stack_cache cache;
	struct stack *stack;
	size_t most;

	(void)state;
	start(STACK_GUARD_AUTO);
	most = SLOT_BYTES - pool.guards.page_bytes;
	stack_cache_init(&cache, &pool);
	stack = stack_cache_get(&cache);
	fill(stack, 1);
	stack_cache_put(&cache, stack);
	assert_int_equal(pool.high_water_bytes, most);
	assert_int_equal(stack_pool_note_use(&pool, stack), 32 * 1024);
	assert_int_equal(*stack->low, 0);
	assert_int_equal(((char *)stack)[-1], 1);

	/* One that was deep is followed by a look at the next. */
	assert_ptr_equal(stack_cache_get(&cache), stack);
	fill(stack, 2);
	stack_cache_put(&cache, stack);
	assert_int_equal(stack_pool_note_use(&pool, stack), 32 * 1024);
	stack_pool_finish(&pool);
}

static void use_of_large_stacks_is_measured_in_pages(void **state)
{
	struct stack_pool_options options = {.slot_bytes = (size_t)4 << 20};
	struct stack *stack;
	size_t page;

	(void)state;
	assert_int_equal(stack_pool_init(&pool, &options), 0);
	page = pool.guards.page_bytes;
	stack = stack_pool_get_batch(&pool);
	assert_int_equal(stack_pool_note_use(&pool, stack), page);
	stack->low[(3 << 20) - page] = 1; /* a hole lies above it */
	assert_int_equal(stack_pool_note_use(&pool, stack), 1 << 20);
	stack_pool_finish(&pool);
}

static void sizes_are_rounded_up_to_pages(void **state)
{
	struct stack_pool_options options = {.slot_bytes = 1};

	(void)state;
	assert_int_equal(stack_pool_init(&pool, &options), 0);
	assert_int_equal(pool.slot_bytes, 3 * pool.guards.page_bytes);
	stack_pool_finish(&pool);
	options.slot_bytes = SLOT_BYTES + 1;
	assert_int_equal(stack_pool_init(&pool, &options), 0);
	assert_int_equal(pool.slot_bytes, SLOT_BYTES + pool.guards.page_bytes);
	stack_pool_finish(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stack_has_a_guard_below_and_is_usable_to_its_end),
		cmocka_unit_test(a_write_below_a_stack_is_found_by_its_canary),
		cmocka_unit_test(stacks_are_of_sixteen_colours),
		cmocka_unit_test(guards_beyond_the_share_of_mappings_are_canaries),
		cmocka_unit_test(the_stack_returned_last_comes_back_first),
		cmocka_unit_test(what_one_cache_gives_back_another_gets),
		cmocka_unit_test(deep_pages_are_returned_and_shallow_ones_kept),
		cmocka_unit_test(use_of_large_stacks_is_measured_in_pages),
		cmocka_unit_test(sizes_are_rounded_up_to_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
