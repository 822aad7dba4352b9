#include "handlers/admission.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/handler_fixture.h"
#include "tests/with_cmocka.h"

/* What /fanout makes of the memory that all requests have together. */

static struct memory_budget budget;

static void handle_within(size_t limit_bytes, size_t room_bytes)
{
	static const struct scripted_reply replies[] = {{.status = 200}};
	struct fanout_options options;

	script_by(&(struct scripted_options){.replies = replies, .reply_count = 1});
	memory_budget_init(&budget);
	memory_budget_set(&budget, limit_bytes, room_bytes);
	options = plain_options();
	options.limits.memory = &budget;
	handle_with(options);
	run_on("coroutine", 1, 10000);
}

static void what_does_not_fit_is_refused_before_a_call_is_made(void **state)
{
	struct scripted_stats stats;

	(void)state;
	handle_within(67108864, 1000000);
	get("n=1000");
	expect_problem(503, NULL, json_string_value(member("detail")));
	assert_non_null(strstr(json_string_value(member("detail")), "memory limit of 67108864"));
	expect_header("Retry-After", "1");
	scripted_client_stats(client, &stats);
	assert_int_equal(stats.calls, 0);
	assert_int_equal(budget.refused, 1);
	forget_answer();
	get("n=10");
	expect_member("ok", "10");
	assert_int_equal(budget.taken_bytes, response.body_len);
	forget_answer();
	assert_int_equal(budget.taken_bytes, 0);
}

static void only_calls_at_once_need_memory_for_their_tasks(void **state)
{
	(void)state;
	handle_within(67108864, 1000000);
	get("n=1000&max_parallel=10");
	expect_member("ok", "1000");
	forget_answer();
	assert_int_equal(budget.taken_bytes, 0);
}

static void an_answer_keeps_its_memory_until_it_is_gone(void **state)
{
	struct response answer = {.body_len = 30};
	size_t taken;

	(void)state;
	memory_budget_init(&budget);
	memory_budget_set(&budget, 1000, 100);
	answer.body = malloc(answer.body_len);
	assert_non_null(answer.body);
	assert_true(memory_budget_take(&budget, 70, &taken));
	admission_leave(&budget, taken, &answer);
	assert_int_equal(memory_budget_left(&budget), 70);
	response_finish(&answer);
	assert_int_equal(memory_budget_left(&budget), 100);
	response_finish(&answer);
	assert_int_equal(memory_budget_left(&budget), 100);
}

static void without_a_limit_all_fit(void **state)
{
	(void)state;
	handle_within(SIZE_MAX, SIZE_MAX);
	get("n=1000");
	expect_member("ok", "1000");
}

static void a_request_keeps_at_most_a_share(void **state)
{
	(void)state;
	memory_budget_init(&budget);
	assert_int_equal(admission_share(NULL, 500), 500);
	assert_int_equal(admission_share(&budget, 500), 500);
	memory_budget_set(&budget, 2000, 1000);
	assert_int_equal(admission_share(&budget, 500), 125);
	assert_int_equal(admission_share(&budget, 100), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_does_not_fit_is_refused_before_a_call_is_made,
	                                  tear_down),
		cmocka_unit_test_teardown(only_calls_at_once_need_memory_for_their_tasks,
	                                  tear_down),
		cmocka_unit_test_teardown(without_a_limit_all_fit, tear_down),
		cmocka_unit_test(an_answer_keeps_its_memory_until_it_is_gone),
		cmocka_unit_test(a_request_keeps_at_most_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
