#include "clients/retry_budget.h"
#include "tests/with_cmocka.h"

#define SECOND_NS INT64_C(1000000000)

enum { LEAST = RETRY_BUDGET_LEAST_PER_SECOND * RETRY_BUDGET_SECONDS };

static void count_calls(struct retry_budget *budget, unsigned count, int64_t now_ns)
{
	for (unsigned i = 0; i < count; i++)
		retry_budget_count_call(budget, now_ns);
}

static unsigned take_all(struct retry_budget *budget, int64_t now_ns)
{
	unsigned taken = 0;

	while (retry_budget_take(budget, now_ns))
		taken++;
	return taken;
}

static void a_fifth_of_many_calls_may_be_retried(void **state)
{
	struct retry_budget budget = {0};

	(void)state;
	count_calls(&budget, 1000, SECOND_NS);
	assert_int_equal(take_all(&budget, SECOND_NS), 200);
	count_calls(&budget, 100, 2 * SECOND_NS);
	assert_int_equal(take_all(&budget, 2 * SECOND_NS), 20);
}

static void of_few_calls_three_a_second_may_be(void **state)
{
	struct retry_budget budget = {0};

	(void)state;
	count_calls(&budget, 1, SECOND_NS);
	assert_int_equal(take_all(&budget, SECOND_NS), LEAST);
	count_calls(&budget, LEAST * 5 + 4, SECOND_NS);
	assert_int_equal(take_all(&budget, SECOND_NS), 1); /* of 155 calls 31 */
}

static void what_was_ten_seconds_ago_does_not_count(void **state)
{
	struct retry_budget budget = {0};

	(void)state;
	count_calls(&budget, 1000, 100 * SECOND_NS);
	assert_int_equal(take_all(&budget, 100 * SECOND_NS), 200);
	assert_int_equal(take_all(&budget, 110 * SECOND_NS - 1), 0);
	assert_int_equal(take_all(&budget, 110 * SECOND_NS), LEAST);
	assert_int_equal(take_all(&budget, 1000 * SECOND_NS), LEAST);
}

static void calls_and_retries_are_forgotten_second_by_second(void **state)
{
	struct retry_budget budget = {0};

	(void)state;
	for (int second = 0; second < 10; second++)
		count_calls(&budget, 100, second * SECOND_NS);
	assert_int_equal(take_all(&budget, 9 * SECOND_NS), 200);
	/* 900 are left of the calls, and all of the retries. */
	assert_int_equal(take_all(&budget, 10 * SECOND_NS), 0);
	count_calls(&budget, 105, 10 * SECOND_NS);
	assert_int_equal(take_all(&budget, 10 * SECOND_NS), 1);
}

static void never_more_than_a_fifth_in_any_ten_seconds(void **state)
{
	struct retry_budget budget = {0};
	unsigned retries[60] = {0};

	(void)state;
	for (int second = 0; second < 60; second++)
		for (unsigned i = 0; i < 100; i++) {
			int64_t now_ns = second * SECOND_NS + i * (SECOND_NS / 100);

			count_calls(&budget, 1, now_ns);
			retries[second] += retry_budget_take(&budget, now_ns);
		}
	for (int first = 0; first + 10 <= 60; first++) {
		unsigned sum = 0;

		for (int second = first; second < first + 10; second++)
			sum += retries[second];
		assert_in_range(sum, 100, 200);
	}
}

static void a_thread_that_comes_late_counts_as_now(void **state)
{
	struct retry_budget budget = {0};

	(void)state;
	count_calls(&budget, 500, 5 * SECOND_NS);
	count_calls(&budget, 500, 5 * SECOND_NS - 1);
	assert_int_equal(take_all(&budget, 5 * SECOND_NS - 1), 200);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_fifth_of_many_calls_may_be_retried),
		cmocka_unit_test(of_few_calls_three_a_second_may_be),
		cmocka_unit_test(what_was_ten_seconds_ago_does_not_count),
		cmocka_unit_test(calls_and_retries_are_forgotten_second_by_second),
		cmocka_unit_test(never_more_than_a_fifth_in_any_ten_seconds),
		cmocka_unit_test(a_thread_that_comes_late_counts_as_now),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
