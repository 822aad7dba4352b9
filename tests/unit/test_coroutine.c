#include "executors/coroutine/coroutine.h"
#include "tests/with_cmocka.h"

enum { GUARD_BYTES = 1024 };

/* As a pool and its carriers lay it out. */
struct slot {
	char bytes[4096];
	struct coroutine coroutine;
	struct stack stack;
};

static void a_stack_reaches_from_its_guard_to_the_coroutine(void **state)
{
	static struct slot slot;
	const struct coroutine *coroutine = &slot.coroutine;
	uintptr_t low = (uintptr_t)slot.bytes + GUARD_BYTES;

	(void)state;
	slot.stack.low = slot.bytes + GUARD_BYTES;
	assert_false(coroutine_has_on_stack(coroutine, 0));
	assert_false(coroutine_has_on_stack(coroutine, (uintptr_t)slot.bytes));
	assert_false(coroutine_has_on_stack(coroutine, low - 1));
	assert_true(coroutine_has_on_stack(coroutine, low));
	assert_true(coroutine_has_on_stack(coroutine, (uintptr_t)coroutine - 1));
	assert_false(coroutine_has_on_stack(coroutine, (uintptr_t)coroutine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_reaches_from_its_guard_to_the_coroutine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
