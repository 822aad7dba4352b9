#include "server/slow_endpoint_rate.h"

#include "tests/with_cmocka.h"

#define SECOND INT64_C(1000000000)

static struct slow_rates rates;

static int forget(void **state)
{
	(void)state;
	rates = (struct slow_rates){0};
	return 0;
}

static unsigned take_all(uint32_t per_second, int64_t now_ns)
{
	unsigned count = 0;

	while (slow_rates_take(&rates, per_second, now_ns))
		count++;
	return count;
}

static void a_second_is_the_burst(void **state)
{
	(void)state;
	assert_int_equal(take_all(50, 5 * SECOND), 50);
	assert_int_equal(take_all(50, 5 * SECOND + SECOND / 50 - 1), 0);
	assert_int_equal(take_all(50, 5 * SECOND + SECOND / 50), 1);
	assert_int_equal(take_all(50, 60 * SECOND), 50);
}

static void uneven_rates_lose_nothing(void **state)
{
	unsigned count = 0;

	(void)state;
	(void)take_all(7, SECOND);
	for (int64_t step = 1; step <= 1000; step++)
		count += take_all(7, SECOND + step * SECOND / 100);
	assert_int_equal(count, 70);
}

static void each_rate_has_a_bucket_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(take_all(3, SECOND), 3);
	assert_int_equal(take_all(1000000, SECOND), 1000000);
	assert_int_equal(take_all(1, SECOND), 1);
	assert_int_equal(take_all(3, SECOND), 0);
}

static void the_least_recently_used_rate_makes_way(void **state)
{
	(void)state;
	for (uint32_t rate = 1; rate <= SLOW_RATES; rate++)
		assert_int_equal(take_all(rate, SECOND + rate), rate);
	(void)slow_rates_take(&rates, 1, SECOND + 100);
	assert_int_equal(take_all(SLOW_RATES + 1, SECOND + 101), SLOW_RATES + 1);
	/* 1 was used again and is still empty; 2 was the oldest and starts full. */
	assert_int_equal(take_all(1, SECOND + 102), 0);
	assert_int_equal(take_all(2, SECOND + 103), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_second_is_the_burst, forget),
		cmocka_unit_test_setup(uneven_rates_lose_nothing, forget),
		cmocka_unit_test_setup(each_rate_has_a_bucket_of_its_own, forget),
		cmocka_unit_test_setup(the_least_recently_used_rate_makes_way, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
