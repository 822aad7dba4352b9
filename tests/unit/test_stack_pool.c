#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "executors/coroutine/stack_pool.h"
#include "tests/with_cmocka.h"

enum { SLOT_BYTES = 64 * 1024, SLOTS = 200 };

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

static void every_slot_has_a_guard_below_and_is_usable_to_its_end(void **state)
{
	struct stack_pool pool;
	char *slots[SLOTS];

	(void)state;
	stack_pool_init(&pool, SLOT_BYTES);
	for (size_t i = 0; i < SLOTS; i++) {
		slots[i] = stack_pool_get(&pool);
		assert_non_null(slots[i]);
		memset(slots[i] + stack_pool_guard_bytes(), (int)i,
		       SLOT_BYTES - stack_pool_guard_bytes());
	}
	for (size_t i = 0; i < SLOTS; i++) {
		assert_false(is_readable(slots[i]));
		assert_false(is_readable(slots[i] + stack_pool_guard_bytes() - 1));
		assert_int_equal((uint8_t)slots[i][stack_pool_guard_bytes()], i);
		assert_int_equal((uint8_t)slots[i][SLOT_BYTES - 1], i);
	}
	stack_pool_finish(&pool);
}

static void the_slot_returned_last_comes_back_first(void **state)
{
	struct stack_pool pool;
	void *one, *other;

	(void)state;
	stack_pool_init(&pool, SLOT_BYTES);
	one = stack_pool_get(&pool);
	other = stack_pool_get(&pool);
	assert_ptr_not_equal(one, other);
	stack_pool_put(&pool, one);
	stack_pool_put(&pool, other);
	assert_ptr_equal(stack_pool_get(&pool), other);
	assert_ptr_equal(stack_pool_get(&pool), one);
	stack_pool_finish(&pool);
}

static void sizes_are_rounded_up_to_pages(void **state)
{
	struct stack_pool pool;

	(void)state;
	stack_pool_init(&pool, 1);
	assert_int_equal(pool.slot_bytes, 3 * stack_pool_guard_bytes());
	stack_pool_finish(&pool);
	stack_pool_init(&pool, SLOT_BYTES + 1);
	assert_int_equal(pool.slot_bytes, SLOT_BYTES + stack_pool_guard_bytes());
	stack_pool_finish(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_has_a_guard_below_and_is_usable_to_its_end),
		cmocka_unit_test(the_slot_returned_last_comes_back_first),
		cmocka_unit_test(sizes_are_rounded_up_to_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
