#include "handlers/batch_summary.h"

#include <stdlib.h>

#include "tests/with_cmocka.h"

static void nearest_rank_of_the_textbook_set(void **state)
{
	/* https://en.wikipedia.org/wiki/Percentile#The_nearest-rank_method */
	static const int64_t set[] = {15, 20, 35, 40, 50};

	(void)state;
	assert_int_equal(nearest_rank(set, 5, 5), 15);
	assert_int_equal(nearest_rank(set, 5, 20), 15);
	assert_int_equal(nearest_rank(set, 5, 21), 20);
	assert_int_equal(nearest_rank(set, 5, 30), 20);
	assert_int_equal(nearest_rank(set, 5, 40), 20);
	assert_int_equal(nearest_rank(set, 5, 50), 35);
	assert_int_equal(nearest_rank(set, 5, 100), 50);
	assert_int_equal(nearest_rank(set, 5, 0), 15);
}

static void every_percentile_of_one_value_is_that_value(void **state)
{
	static const int64_t one[] = {7};

	(void)state;
	for (unsigned percent = 0; percent <= 100; percent++)
		assert_int_equal(nearest_rank(one, 1, percent), 7);
}

static void percentiles_of_1_to_100_are_themselves(void **state)
{
	int64_t set[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		set[i] = i + 1;
	for (unsigned percent = 1; percent <= 100; percent++)
		assert_int_equal(nearest_rank(set, 100, percent), percent);
}

static struct batch *batch_with(const struct batch_child *each, size_t count)
{
	struct batch *batch = batch_create(count);

	assert_non_null(batch);
	for (size_t i = 0; i < count; i++)
		batch->each[i] = each[i];
	return batch;
}

static struct batch_summary *summary_of(const struct batch_child *each, size_t count)
{
	struct batch *batch = batch_with(each, count);
	struct batch_summary *summary = batch_summary_create(count);

	assert_non_null(summary);
	batch_summary_fill(summary, batch);
	free(batch);
	return summary;
}

static void whole_replies_are_sorted_and_only_2xx_are_ok(void **state)
{
	static const struct batch_child each[] = {
		{.status = 299, .elapsed_ns = 30},        {.status = 300, .elapsed_ns = 10},
		{.outcome = HTTP_RESET, .elapsed_ns = 5}, {.status = 200, .elapsed_ns = 20},
		{.status = 199, .elapsed_ns = 40},        {.outcome = BATCH_REJECTED},
	};
	struct batch_summary *summary = summary_of(each, 6);

	(void)state;
	assert_int_equal(summary->requested, 6);
	assert_int_equal(summary->ok, 2);
	assert_int_equal(summary->whole, 4);
	assert_int_equal(summary->statuses[199], 1);
	assert_int_equal(summary->statuses[0], 0);
	assert_int_equal(summary->errors[HTTP_RESET], 1);
	assert_int_equal(summary->errors[BATCH_REJECTED], 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(summary->elapsed_ns[i], 10 * (i + 1));
	assert_false(batch_summary_is_overload(summary));
	free(summary);
}

static void overload_is_when_all_were_turned_away(void **state)
{
	static const struct batch_child away[] = {{.outcome = BATCH_REJECTED},
	                                          {.outcome = HTTP_NO_PERMIT}};
	static const struct batch_child mixed[] = {{.outcome = BATCH_REJECTED},
	                                           {.outcome = HTTP_TIMEOUT}};
	static const struct batch_child answered[] = {{.outcome = BATCH_REJECTED}, {.status = 500}};
	struct batch_summary *summary = summary_of(away, 2);

	(void)state;
	assert_true(batch_summary_is_overload(summary));
	free(summary);
	summary = summary_of(mixed, 2);
	assert_false(batch_summary_is_overload(summary));
	free(summary);
	summary = summary_of(answered, 2);
	assert_false(batch_summary_is_overload(summary));
	free(summary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_rank_of_the_textbook_set),
		cmocka_unit_test(every_percentile_of_one_value_is_that_value),
		cmocka_unit_test(percentiles_of_1_to_100_are_themselves),
		cmocka_unit_test(whole_replies_are_sorted_and_only_2xx_are_ok),
		cmocka_unit_test(overload_is_when_all_were_turned_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
