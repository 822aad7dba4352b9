#include "executors/coroutine/turn.h"
#include "tests/with_cmocka.h"

enum { MANY = 8, TURN_TASKS = 61 };

static struct coroutine_carrier carrier;
static struct coroutine coroutines[MANY];

static int setup(void **state)
{
	(void)state;
	carrier = (struct coroutine_carrier){.ready_last = &carrier.ready};
	for (int i = 0; i < MANY; i++)
		coroutines[i] = (struct coroutine){.carrier = &carrier};
	return 0;
}

static void assert_next_is(int index)
{
	assert_ptr_equal(turn_next(&carrier), index < 0 ? NULL : &coroutines[index]);
}

static void what_is_ready_goes_first_come_first_served(void **state)
{
	(void)state;
	assert_next_is(-1);
	for (int i = 0; i < 3; i++)
		turn_push(&carrier, &coroutines[i]);
	assert_true(turn_has_next(&carrier));
	assert_next_is(0);
	turn_push(&carrier, &coroutines[3]);
	for (int i = 1; i < 4; i++)
		assert_next_is(i);
	assert_next_is(-1);
	assert_false(turn_has_next(&carrier));
}

static void what_was_woken_last_goes_first(void **state)
{
	(void)state;
	turn_push(&carrier, &coroutines[0]);
	turn_push_from_elsewhere(&carrier, &coroutines[1]);
	turn_push_from_elsewhere(&carrier, &coroutines[2]);
	turn_push_from_elsewhere(&carrier, &coroutines[3]);
	assert_next_is(3);
	assert_next_is(0);
	assert_next_is(1);
	assert_next_is(2);
	assert_next_is(-1);
}

static void but_no_more_than_three_times_in_a_row(void **state)
{
	(void)state;
	turn_push(&carrier, &coroutines[0]);
	for (int i = 0; i < 3; i++) {
		turn_push_from_elsewhere(&carrier, &coroutines[1]);
		assert_next_is(1);
	}
	turn_push_from_elsewhere(&carrier, &coroutines[1]);
	assert_next_is(0); /* its turn, at last */
	turn_push_from_elsewhere(&carrier, &coroutines[2]);
	assert_next_is(2);
	assert_next_is(1);
}

static void run_one(void)
{
	turn_push(&carrier, &coroutines[0]);
	assert_next_is(0);
}

static void a_turn_of_many_tasks_ends_once_it_has_taken_a_little_time(void **state)
{
	(void)state;
	turn_begin(&carrier);
	carrier.turn_began_ns += 1000000000; /* however slow this machine is */
	for (int i = 0; i < TURN_TASKS; i++) {
		assert_false(turn_is_over(&carrier));
		run_one();
	}
	carrier.turn_began_ns = deadline_now_ns() - 20000;
	assert_true(turn_is_over(&carrier));
	assert_true(turn_is_over(&carrier));
	turn_begin(&carrier);
	assert_false(turn_is_over(&carrier));
}

static void a_turn_of_long_tasks_ends_after_the_first(void **state)
{
	(void)state;
	turn_begin(&carrier);
	run_one();
	carrier.turn_began_ns -= 200000;
	assert_true(turn_is_over(&carrier));
}

static void a_turn_in_no_time_goes_on(void **state)
{
	(void)state;
	turn_begin(&carrier);
	carrier.turn_began_ns += 1000000000;
	for (int i = 0; i < 4 * TURN_TASKS; i++) {
		assert_false(turn_is_over(&carrier));
		run_one();
	}
}

static void new_tasks_are_taken_one_by_one(void **state)
{
	struct task tasks[2];

	(void)state;
	assert_null(turn_next_new(&carrier));
	carrier.new_tasks[0] = &tasks[0];
	carrier.new_tasks[1] = &tasks[1];
	carrier.new_count = 2;
	assert_ptr_equal(turn_next_new(&carrier), &tasks[0]);
	assert_ptr_equal(turn_next_new(&carrier), &tasks[1]);
	assert_null(turn_next_new(&carrier));
	assert_int_equal(carrier.tasks_run, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_ready_goes_first_come_first_served, setup),
		cmocka_unit_test_setup(what_was_woken_last_goes_first, setup),
		cmocka_unit_test_setup(but_no_more_than_three_times_in_a_row, setup),
		cmocka_unit_test_setup(a_turn_of_many_tasks_ends_once_it_has_taken_a_little_time,
	                               setup),
		cmocka_unit_test_setup(a_turn_of_long_tasks_ends_after_the_first, setup),
		cmocka_unit_test_setup(a_turn_in_no_time_goes_on, setup),
		cmocka_unit_test_setup(new_tasks_are_taken_one_by_one, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
