#include <stdint.h>

#include "executors/coroutine/fiber.h"
#include "tests/with_cmocka.h"

enum { STACK_BYTES = 256 * 1024, ROUNDS = 10000 };

static _Alignas(64) char stack[STACK_BYTES];
static struct fiber caller;
static struct {
	struct fiber
		fiber; /* its address is given away, and so what the other stack writes is read */
	double sum;
	long rounds;
	uintptr_t frame;
} callee;

/* Keeps integers and floating-point values live across the switches, in whatever registers the
 * compiler likes best for that. */
static void callee_main(void *fiber)
{
	double step = 0.5;
	long rounds = 0;

	fiber_enter(fiber);
	callee.frame = (uintptr_t)__builtin_frame_address(0);
	for (;;) {
		rounds++;
		callee.sum += step;
		callee.rounds = rounds;
		fiber_switch(&callee.fiber, &caller);
		if (rounds == ROUNDS)
			break;
	}
	fiber_leave(&callee.fiber, &caller);
}

static void registers_survive_a_switch(void **state)
{
	double sum = 0;
	long rounds = 0;

	(void)state;
	fiber_adopt_thread(&caller);
	fiber_init(&callee.fiber, stack, sizeof(stack), callee_main);
	for (int i = 0; i < ROUNDS; i++) {
		sum += 0.25;
		rounds += 3;
		fiber_switch(&caller, &callee.fiber);
		assert_int_equal(callee.rounds, i + 1);
	}
	assert_true(sum == ROUNDS * 0.25);
	assert_true(callee.sum == ROUNDS * 0.5);
	assert_int_equal(rounds, 3 * ROUNDS);
	fiber_switch(&caller, &callee.fiber); /* for the last time */
	fiber_finish(&callee.fiber);
}

static void the_new_stack_is_used_and_aligned(void **state)
{
	(void)state;
	assert_in_range(callee.frame, (uintptr_t)stack, (uintptr_t)stack + sizeof(stack));
	assert_int_equal(callee.frame % 16, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_survive_a_switch),
		cmocka_unit_test(the_new_stack_is_used_and_aligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
