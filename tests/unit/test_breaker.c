#include "clients/breaker.h"
#include "tests/with_cmocka.h"

#define MS_NS INT64_C(1000000)

static const struct breaker_settings settings = {
	.error_percent = 50, .min_calls = 10, .window_ms = 1000, .open_ms = 500};

static struct breaker breaker;
static int64_t now_ns;

static int close_breaker(void **state)
{
	(void)state;
	breaker_init(&breaker, &settings);
	now_ns = 1234567 * MS_NS;
	return 0;
}

static bool admits(void)
{
	uint64_t turn;

	return breaker_admit(&breaker, now_ns, &turn);
}

/* A call that takes no time. */
static void call(enum breaker_report report)
{
	uint64_t turn;

	assert_true(breaker_admit(&breaker, now_ns, &turn));
	breaker_report(&breaker, now_ns, turn, report);
}

static void call_often(unsigned count, enum breaker_report report)
{
	for (unsigned i = 0; i < count; i++)
		call(report);
}

static uint64_t start_probe(void)
{
	uint64_t turn;

	now_ns += 500 * MS_NS;
	assert_true(breaker_admit(&breaker, now_ns, &turn));
	assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
	return turn;
}

static int open_breaker(void **state)
{
	close_breaker(state);
	call_often(10, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_OPEN);
	return 0;
}

static void it_opens_with_half_of_the_calls_and_no_sooner(void **state)
{
	(void)state;
	call_often(10, BREAKER_SUCCESS);
	call_often(9, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	call(BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_OPEN);
	assert_int_equal(breaker.opened, 1);
	assert_false(admits());
}

static void few_calls_do_not_open_it(void **state)
{
	(void)state;
	call_often(9, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	assert_true(admits());
}

static void a_success_does_not_open_it(void **state)
{
	(void)state;
	call_often(9, BREAKER_ERROR);
	call(BREAKER_SUCCESS);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void what_says_nothing_does_not_count(void **state)
{
	(void)state;
	call_often(100, BREAKER_NOTHING);
	call_often(9, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	call(BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_OPEN);
}

static void errors_are_forgotten_with_the_window(void **state)
{
	(void)state;
	call_often(9, BREAKER_ERROR);
	now_ns += 1000 * MS_NS;
	call_often(9, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	now_ns += 500 * MS_NS;
	call(BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_OPEN);
}

static void a_long_silence_empties_the_window(void **state)
{
	(void)state;
	call_often(9, BREAKER_ERROR);
	now_ns += 3600 * 1000 * MS_NS;
	call_often(9, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void open_it_admits_nothing_until_its_time_is_over(void **state)
{
	(void)state;
	now_ns += 500 * MS_NS - 1;
	assert_false(admits());
	now_ns += 1;
	assert_true(admits());
	assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
}

static void half_open_it_admits_one_probe(void **state)
{
	(void)state;
	(void)start_probe();
	for (int i = 0; i < 100; i++)
		assert_false(admits());
}

static void a_probe_that_succeeds_closes_it_and_nothing_is_remembered(void **state)
{
	uint64_t probe = start_probe();

	(void)state;
	breaker_report(&breaker, now_ns, probe, BREAKER_SUCCESS);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	call_often(9, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void a_probe_that_fails_opens_it_for_as_long_again(void **state)
{
	uint64_t probe = start_probe();

	(void)state;
	now_ns += 100 * MS_NS;
	breaker_report(&breaker, now_ns, probe, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_OPEN);
	assert_int_equal(breaker.opened, 2);
	now_ns += 499 * MS_NS;
	assert_false(admits());
	now_ns += 1 * MS_NS;
	assert_true(admits());
}

static void a_probe_that_says_nothing_gives_its_place_to_the_next_call(void **state)
{
	uint64_t probe = start_probe();

	(void)state;
	breaker_report(&breaker, now_ns, probe, BREAKER_NOTHING);
	assert_true(admits());
	assert_false(admits());
}

static void a_probe_that_takes_long_is_joined_by_another(void **state)
{
	uint64_t probe = start_probe(), next = start_probe();

	(void)state;
	assert_false(admits());
	breaker_report(&breaker, now_ns, probe, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
	breaker_report(&breaker, now_ns, next, BREAKER_SUCCESS);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void an_upstream_that_is_slower_than_the_pause_is_found_well(void **state)
{
	uint64_t probe = start_probe();

	(void)state;
	(void)start_probe();
	breaker_report(&breaker, now_ns, probe, BREAKER_SUCCESS);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void what_began_before_it_opened_does_not_matter_any_more(void **state)
{
	uint64_t early, probe;

	close_breaker(state);
	assert_true(breaker_admit(&breaker, now_ns, &early));
	call_often(10, BREAKER_ERROR);
	breaker_report(&breaker, now_ns, early, BREAKER_SUCCESS);
	assert_int_equal(breaker.state, BREAKER_OPEN);
	probe = start_probe();
	breaker_report(&breaker, now_ns, early, BREAKER_SUCCESS);
	assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
	breaker_report(&breaker, now_ns, probe, BREAKER_SUCCESS);
	for (int i = 0; i < 20; i++)
		breaker_report(&breaker, now_ns, early, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void a_thread_that_comes_late_counts_as_now(void **state)
{
	uint64_t turn;

	(void)state;
	call_often(5, BREAKER_ERROR);
	assert_true(breaker_admit(&breaker, now_ns, &turn));
	for (int i = 0; i < 5; i++)
		breaker_report(&breaker, now_ns - 300 * MS_NS, turn, BREAKER_ERROR);
	assert_int_equal(breaker.state, BREAKER_OPEN);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup(it_opens_with_half_of_the_calls_and_no_sooner,
	                               close_breaker),
		cmocka_unit_test_setup(few_calls_do_not_open_it, close_breaker),
		cmocka_unit_test_setup(a_success_does_not_open_it, close_breaker),
		cmocka_unit_test_setup(what_says_nothing_does_not_count, close_breaker),
		cmocka_unit_test_setup(errors_are_forgotten_with_the_window, close_breaker),
		cmocka_unit_test_setup(a_long_silence_empties_the_window, close_breaker),
		cmocka_unit_test_setup(open_it_admits_nothing_until_its_time_is_over, open_breaker),
		cmocka_unit_test_setup(half_open_it_admits_one_probe, open_breaker),
		cmocka_unit_test_setup(a_probe_that_succeeds_closes_it_and_nothing_is_remembered,
	                               open_breaker),
		cmocka_unit_test_setup(a_probe_that_fails_opens_it_for_as_long_again, open_breaker),
		cmocka_unit_test_setup(a_probe_that_says_nothing_gives_its_place_to_the_next_call,
	                               open_breaker),
		cmocka_unit_test_setup(a_probe_that_takes_long_is_joined_by_another, open_breaker),
		cmocka_unit_test_setup(an_upstream_that_is_slower_than_the_pause_is_found_well,
	                               open_breaker),
		cmocka_unit_test(what_began_before_it_opened_does_not_matter_any_more),
		cmocka_unit_test_setup(a_thread_that_comes_late_counts_as_now, close_breaker),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
