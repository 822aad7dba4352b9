#include "executors/deadline.h"

#include "tests/with_cmocka.h"

static void saturates_instead_of_wrapping(void **state)
{
	(void)state;
	assert_true(deadline_in_ms(INT64_MAX).ns == INT64_MAX);
	assert_true(deadline_in_ns(INT64_MAX).ns == INT64_MAX);
	assert_true(deadline_in_ms(INT64_MIN).ns <= deadline_now_ns());
}

static void remaining_is_never_negative(void **state)
{
	(void)state;
	assert_int_equal(deadline_remaining_ns(deadline_in_ms(-5)), 0);
	assert_true(deadline_remaining_ns(DEADLINE_NEVER) == INT64_MAX);
	assert_int_equal(deadline_remaining_ms(DEADLINE_NEVER), -1);
	assert_int_equal(deadline_remaining_ms(deadline_in_ms(0)), 0);
	assert_in_range(deadline_remaining_ms(deadline_in_ms(60000)), 59000, 60000);
}

static void earlier_takes_the_smaller(void **state)
{
	struct deadline now = deadline_in_ms(0);

	(void)state;
	assert_true(deadline_earlier(now, DEADLINE_NEVER).ns == now.ns);
	assert_true(deadline_earlier(DEADLINE_NEVER, now).ns == now.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saturates_instead_of_wrapping),
		cmocka_unit_test(remaining_is_never_negative),
		cmocka_unit_test(earlier_takes_the_smaller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
