#include <stdint.h>

#include "handlers/calls_call.h"
#include "handlers/calls_deadline.h"
#include "handlers/calls_window.h"
#include "tests/with_cmocka.h"

/* How long the calls of a list may take, how many may be out, and what is said of them. */

#define MS INT64_C(1000000)

static void expect_reserve(int64_t deadline_ms, size_t count, int64_t reserve_ns)
{
	struct calls_deadlines deadlines = calls_deadlines(7 * MS, deadline_ms, count);

	assert_true(deadlines.answer.ns == (7 + deadline_ms) * MS);
	assert_true(deadlines.calls.ns == deadlines.answer.ns - reserve_ns);
}

static void calls_end_a_while_before_the_answer_is_due(void **state)
{
	(void)state;
	expect_reserve(100, 0, 10 * MS);
	expect_reserve(500, 0, 50 * MS);
	expect_reserve(30000, 0, 50 * MS);
	expect_reserve(500, 100, 52 * MS);
	expect_reserve(30000, 100000, 2050 * MS);
}

static void the_reserve_is_never_more_than_half(void **state)
{
	(void)state;
	expect_reserve(1, 1000000, MS / 2);
	expect_reserve(500, 1000000, 250 * MS);
}

static void replies_that_are_short_let_more_calls_out(void **state)
{
	struct calls_window window;
	size_t limit;

	(void)state;
	calls_window_init(&window, 16 << 20);
	limit = calls_window_limit(&window);
	assert_int_equal(limit, 256); /* of 64 KiB each */
	for (int i = 0; i < 16; i++)
		calls_window_add(&window, 0);
	assert_in_range(calls_window_limit(&window), 500, 512);
	for (int i = 0; i < 100000; i++)
		calls_window_add(&window, 0);
	assert_in_range(calls_window_limit(&window), 10000, 16384);
}

static void replies_that_are_long_let_fewer_out_but_always_one(void **state)
{
	struct calls_window window;

	(void)state;
	calls_window_init(&window, 16 << 20);
	for (int i = 0; i < 1600; i++)
		calls_window_add(&window, 1 << 20);
	assert_in_range(calls_window_limit(&window), 15, 17);
	calls_window_init(&window, 1000);
	assert_int_equal(calls_window_limit(&window), 1);
}

static void without_a_window_any_number_may_be_out(void **state)
{
	struct calls_window window;

	(void)state;
	calls_window_init(&window, 0);
	calls_window_add(&window, SIZE_MAX / 2);
	assert_true(calls_window_limit(&window) == SIZE_MAX);
}

static void count(struct calls_coverage *coverage, unsigned outcome, int status)
{
	struct calls_call call = {.outcome = outcome, .made.status = status};

	calls_coverage_add(coverage, &call);
}

static void every_call_that_has_not_succeeded_is_in_the_coverage(void **state)
{
	static const char expected[] =
		"{\"requested\":6,\"succeeded\":2,\"percent\":33.3,\"degraded\":{\"timeout\":1,"
		"\"rejected\":1,\"failed_dependency\":1,\"bad_status\":1}}";
	struct calls_coverage coverage = {0};
	struct text_buffer buffer;

	(void)state;
	count(&coverage, HTTP_OK, 200);
	count(&coverage, HTTP_OK, 299);
	count(&coverage, HTTP_OK, 304);
	count(&coverage, HTTP_TIMEOUT, 0);
	count(&coverage, BATCH_REJECTED, 0);
	count(&coverage, CALLS_DEPENDENCY_FAILED, 0);
	text_buffer_init(&buffer, 1000);
	calls_coverage_print(&coverage, &buffer);
	assert_int_equal(buffer.length, sizeof(expected) - 1);
	assert_memory_equal(buffer.data, expected, buffer.length);
	text_buffer_finish(&buffer);
}

static void it_is_an_overload_if_all_were_turned_away(void **state)
{
	struct calls_coverage coverage = {0};

	(void)state;
	count(&coverage, HTTP_NO_PERMIT, 0);
	count(&coverage, BATCH_REJECTED, 0);
	assert_true(calls_coverage_is_overload(&coverage));
	count(&coverage, HTTP_TIMEOUT, 0);
	assert_false(calls_coverage_is_overload(&coverage));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_end_a_while_before_the_answer_is_due),
		cmocka_unit_test(the_reserve_is_never_more_than_half),
		cmocka_unit_test(replies_that_are_short_let_more_calls_out),
		cmocka_unit_test(replies_that_are_long_let_fewer_out_but_always_one),
		cmocka_unit_test(without_a_window_any_number_may_be_out),
		cmocka_unit_test(every_call_that_has_not_succeeded_is_in_the_coverage),
		cmocka_unit_test(it_is_an_overload_if_all_were_turned_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
