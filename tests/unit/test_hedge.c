#include "clients/hedge.h"
#include "clients/retry.h"
#include "tests/with_cmocka.h"

#define MS_NS INT64_C(1000000)

static const struct hedge_settings settings = {.percentile = 95, .budget_percent = 5};

/* Static: it is large. */
static struct hedge hedge;
static struct latency_window window;

static int start(void **state)
{
	(void)state;
	hedge_init(&hedge, &settings);
	window = (struct latency_window){0};
	return 0;
}

/* ------ latencies */

/* @value_ns or up to a sixteenth above it. */
static void assert_about(int64_t value_ns, int64_t expected_ns)
{
	assert_in_range(value_ns, expected_ns, expected_ns + expected_ns / 16);
}

static void percentiles_are_right_to_a_sixteenth(void **state)
{
	(void)state;
	for (int i = 1; i <= 1000; i++)
		latency_window_add(&window, 0, i * MS_NS);
	assert_int_equal(latency_window_count(&window), 1000);
	assert_about(latency_window_percentile(&window, 50), 500 * MS_NS);
	assert_about(latency_window_percentile(&window, 95), 950 * MS_NS);
	assert_about(latency_window_percentile(&window, 100), 1000 * MS_NS);
	assert_about(latency_window_at_rank(&window, 1), 1 * MS_NS);
}

static void any_duration_has_a_class_that_ends_just_above_it(void **state)
{
	struct retry_random random = {.state = 3};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t took_ns = 1024 + (int64_t)retry_random_upto(
						 &random, UINT64_C(200000000000) >> (i % 30));

		window = (struct latency_window){0};
		latency_window_add(&window, 0, took_ns);
		assert_about(latency_window_percentile(&window, 50), took_ns);
	}
}

static void durations_beyond_the_ends_are_counted_there(void **state)
{
	(void)state;
	latency_window_add(&window, 0, -5);
	latency_window_add(&window, 0, 0);
	latency_window_add(&window, 0, INT64_MAX);
	assert_int_equal(latency_window_count(&window), 3);
	assert_in_range(latency_window_at_rank(&window, 2), 1, 2000);
	assert_true(latency_window_at_rank(&window, 3) > 200000 * MS_NS);
}

static void without_a_call_there_is_no_percentile(void **state)
{
	(void)state;
	assert_int_equal(latency_window_percentile(&window, 95), 0);
}

static void old_calls_are_forgotten_after_two_periods(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		latency_window_add(&window, 0, 900 * MS_NS);
	for (int period = 1; period <= 2; period++)
		for (int i = 0; i < 100; i++)
			latency_window_add(&window, period * LATENCY_PERIOD_NS, 10 * MS_NS);
	assert_int_equal(latency_window_count(&window), 200);
	assert_about(latency_window_percentile(&window, 99), 10 * MS_NS);
}

static void few_calls_are_kept_for_longer(void **state)
{
	(void)state;
	for (int i = 0; i < LATENCY_PERIOD_LEAST; i++)
		latency_window_add(&window, i * LATENCY_PERIOD_NS, 10 * MS_NS);
	assert_int_equal(latency_window_count(&window), LATENCY_PERIOD_LEAST);
}

static void many_calls_end_a_period_early(void **state)
{
	(void)state;
	for (int i = 0; i < 10 * LATENCY_PERIOD_CALLS; i++)
		latency_window_add(&window, 0, MS_NS);
	assert_in_range(latency_window_count(&window), LATENCY_PERIOD_CALLS,
	                2 * LATENCY_PERIOD_CALLS);
}

/* ------ hedging */

static void nothing_is_hedged_before_latencies_are_known(void **state)
{
	(void)state;
	for (int i = 0; i < HEDGE_LEAST_CALLS; i++) {
		assert_true(hedge_begin(&hedge) == INT64_MAX);
		hedge_learn(&hedge, 0, 10 * MS_NS);
	}
	assert_about(hedge_begin(&hedge), 10 * MS_NS);
}

static void learn(unsigned count, unsigned slow_per_thousand, uint64_t seed)
{
	struct retry_random random = {.state = seed};

	for (unsigned i = 0; i < count; i++) {
		bool is_slow = retry_random_upto(&random, 999) < slow_per_thousand;

		hedge_learn(&hedge, 0, is_slow ? 1000 * MS_NS : 10 * MS_NS);
	}
}

/* With the plain 95th percentile that would be so half of the time. */
static void just_as_many_slow_calls_as_the_percentile_says_are_found_slow(void **state)
{
	unsigned found = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		hedge_init(&hedge, &settings);
		learn(2000, 50, seed);
		found += hedge_begin(&hedge) < 20 * MS_NS;
	}
	assert_in_range(found, 197, 200); /* three standard errors: all but one in 700 */
}

static void what_most_calls_take_is_not_slow(void **state)
{
	(void)state;
	learn(2000, 150, 1);
	assert_about(hedge_begin(&hedge), 1000 * MS_NS);
}

/* With calls that take for ever. */
static unsigned take_all(void)
{
	unsigned taken = 0;

	while (hedge_take(&hedge, 3600 * 1000 * MS_NS) == 0)
		taken++;
	return taken;
}

static void the_budget_is_what_it_began_with_and_a_share_of_the_calls(void **state)
{
	(void)state;
	learn(100, 0, 1);
	assert_int_equal(take_all(), HEDGE_BUDGET_FIRST);
	for (int i = 0; i < 400; i++)
		(void)hedge_begin(&hedge);
	assert_int_equal(take_all(), 20);
}

static void the_budget_does_not_grow_without_end(void **state)
{
	(void)state;
	learn(100, 0, 1);
	for (int i = 0; i < 100000; i++)
		(void)hedge_begin(&hedge);
	assert_int_equal(take_all(), HEDGE_BUDGET_MOST);
}

static void as_the_budget_runs_short_calls_have_to_be_slower(void **state)
{
	int64_t delay_ns;

	(void)state;
	learn(1000, 0, 1);
	delay_ns = hedge_begin(&hedge);
	for (int i = HEDGE_BUDGET_FIRST; i >= HEDGE_BUDGET_SHORT; i--)
		assert_int_equal(hedge_take(&hedge, delay_ns), 0);
	assert_int_equal(hedge_take(&hedge, delay_ns), 2 * delay_ns);
	for (int i = HEDGE_BUDGET_SHORT - 1; i >= HEDGE_BUDGET_SHORT / 2; i--)
		assert_int_equal(hedge_take(&hedge, 2 * delay_ns), 0);
	assert_int_equal(hedge_take(&hedge, 2 * delay_ns), 4 * delay_ns);
	for (int i = HEDGE_BUDGET_SHORT / 2 - 1; i > 0; i--)
		assert_int_equal(hedge_take(&hedge, 4 * delay_ns), 0);
	assert_int_equal(hedge_take(&hedge, 4 * delay_ns), 8 * delay_ns);
	assert_int_equal(hedge_take(&hedge, 8 * delay_ns), 16 * delay_ns);
}

/* ------ calls of an upstream of which one in twenty is slow, by chance */

enum { SIMULATED = 10000, SIMULATED_RUNS = 20 };

struct simulation {
	struct retry_random random;
	unsigned attempts;
	unsigned late; /* calls that took 100 ms and more */
};

static int64_t attempt(struct simulation *simulation)
{
	bool is_slow = retry_random_upto(&simulation->random, 19) == 0;
	int64_t jitter_ns = (int64_t)retry_random_upto(&simulation->random, 2 * MS_NS);

	simulation->attempts++;
	return (is_slow ? 1000 * MS_NS : 10 * MS_NS) + jitter_ns;
}

/* Returns how long it takes. */
static int64_t simulate_call(struct simulation *simulation)
{
	int64_t first_ns = attempt(simulation), delay_ns = hedge_begin(&hedge), second_ns;

	while (delay_ns < first_ns) {
		int64_t again_ns = hedge_take(&hedge, delay_ns);

		if (again_ns == 0) {
			second_ns = delay_ns + attempt(simulation);
			return second_ns < first_ns ? second_ns : first_ns;
		}
		delay_ns = again_ns;
	}
	return first_ns;
}

static void few_calls_stay_slow_for_few_attempts_more(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SIMULATED_RUNS; seed++) {
		struct simulation simulation = {.random.state = seed};

		hedge_init(&hedge, &settings);
		for (unsigned i = 0; i < SIMULATED; i++) {
			int64_t took_ns = simulate_call(&simulation);

			hedge_learn(&hedge, i * MS_NS, took_ns);
			simulation.late += took_ns >= 100 * MS_NS;
		}
		assert_in_range(simulation.late, 0, SIMULATED / 100);
		assert_in_range(simulation.attempts, SIMULATED, SIMULATED * 106 / 100);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup(percentiles_are_right_to_a_sixteenth, start),
		cmocka_unit_test_setup(any_duration_has_a_class_that_ends_just_above_it, start),
		cmocka_unit_test_setup(durations_beyond_the_ends_are_counted_there, start),
		cmocka_unit_test_setup(without_a_call_there_is_no_percentile, start),
		cmocka_unit_test_setup(old_calls_are_forgotten_after_two_periods, start),
		cmocka_unit_test_setup(few_calls_are_kept_for_longer, start),
		cmocka_unit_test_setup(many_calls_end_a_period_early, start),
		cmocka_unit_test_setup(nothing_is_hedged_before_latencies_are_known, start),
		cmocka_unit_test_setup(
			just_as_many_slow_calls_as_the_percentile_says_are_found_slow, start),
		cmocka_unit_test_setup(what_most_calls_take_is_not_slow, start),
		cmocka_unit_test_setup(the_budget_is_what_it_began_with_and_a_share_of_the_calls,
	                               start),
		cmocka_unit_test_setup(the_budget_does_not_grow_without_end, start),
		cmocka_unit_test_setup(as_the_budget_runs_short_calls_have_to_be_slower, start),
		cmocka_unit_test(few_calls_stay_slow_for_few_attempts_more),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
