#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/contract/calls_fixture.h"
#include "tests/contract/over_executor.h"
#include "tests/fakes/echo_client.h"

/* Which calls of a list are made, and when: policies, dependsOn, limits, the deadline. */

/* The responses, as "id=status id=error …", in the order in which they stand. */
static char *outcomes(void)
{
	json_t *answer = calls_parsed(), *response;
	char *all = strdup("");
	size_t index;

	json_array_foreach(json_object_get(answer, "responses"), index, response)
	{
		const char *error = json_string_value(json_object_get(response, "error"));
		char *longer;

		assert_true(
			asprintf(&longer, "%s%s=%lld%s ", all,
		                 json_string_value(json_object_get(response, "id")),
		                 (long long)json_integer_value(json_object_get(response, "status")),
		                 error ? error : "") > 0);
		free(all);
		all = longer;
	}
	json_decref(answer);
	return all;
}

static void expect_outcomes(const char *expected)
{
	char *found = outcomes();

	assert_string_equal(found, expected);
	free(found);
}

static void expect_coverage(const char *expected)
{
	json_t *answer = calls_parsed();
	char *text = json_dumps(json_object_get(answer, "coverage"),
	                        JSON_COMPACT | JSON_REAL_PRECISION(6));

	assert_string_equal(text, expected);
	free(text);
	json_decref(answer);
}

static void expect_begun(const char *expected)
{
	char *begun = echo_client_begun(calls_client);

	assert_string_equal(begun, expected);
	free(begun);
}

static void the_first_success_cancels_the_others(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"policy\":\"first\",",
	                "{\"id\":\"a\",\"url\":\"/?ms=forever\"},{\"id\":\"b\",\"url\":\"/?ms=5\"},"
	                "{\"id\":\"c\",\"url\":\"/?status=500\"},"
	                "{\"id\":\"d\",\"url\":\"/?error=reset\"}");
	expect_outcomes("a=0canceled b=200 c=500 d=0reset ");
	expect_coverage("{\"requested\":4,\"succeeded\":1,\"percent\":25.0,"
	                "\"degraded\":{\"reset\":1,\"canceled\":1,\"bad_status\":1}}");
}

static void without_a_success_the_first_waits_for_all(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"policy\":\"first\",",
	                "{\"id\":\"a\",\"url\":\"/?ms=5&status=404\"},"
	                "{\"id\":\"b\",\"url\":\"/?error=dns\"}");
	expect_outcomes("a=404 b=0dns ");
}

static void a_quorum_of_two_cancels_the_others(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"policy\":\"quorum\",\"quorum\":2,",
	                "{\"id\":\"a\",\"url\":\"/?ms=forever\"},{\"id\":\"b\",\"url\":\"/\"},"
	                "{\"id\":\"c\",\"url\":\"/?status=500\"},{\"id\":\"d\",\"url\":\"/?ms=5\"},"
	                "{\"id\":\"e\",\"url\":\"/?ms=forever\"}");
	expect_outcomes("a=0canceled b=200 c=500 d=200 e=0canceled ");
}

static void the_first_failure_cancels_the_others_if_asked_to(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"policy\":\"fail_fast\",",
	                "{\"id\":\"a\",\"url\":\"/?ms=forever\"},{\"id\":\"b\",\"url\":\"/\"},"
	                "{\"id\":\"c\",\"url\":\"/?ms=30&status=503\"},"
	                "{\"id\":\"d\",\"url\":\"/?ms=forever\",\"dependsOn\":[\"a\"]}");
	/* What depends on a call that was cancelled is not made. */
	expect_outcomes("a=0canceled b=200 c=503 d=424 ");
}

static void what_never_starts_is_cancelled_too(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"policy\":\"first\",\"max_parallel\":1,",
	                "{\"id\":\"a\",\"url\":\"/a\"},{\"id\":\"b\",\"url\":\"/b?ms=forever\"},"
	                "{\"id\":\"c\",\"url\":\"/c?ms=forever\"}");
	expect_outcomes("a=200 b=0canceled c=0canceled ");
}

static void at_the_deadline_what_is_not_in_is_a_timeout(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"deadline_ms\":100,\"max_parallel\":2,",
	                "{\"id\":\"a\",\"url\":\"/a\"},{\"id\":\"b\",\"url\":\"/b?ms=forever\"},"
	                "{\"id\":\"c\",\"url\":\"/c?ms=forever\"},{\"id\":\"d\",\"url\":\"/d\"},"
	                "{\"id\":\"e\",\"url\":\"/e\",\"dependsOn\":[\"b\"]}");
	expect_outcomes("a=200 b=0timeout c=0timeout d=0timeout e=424 ");
}

static void the_wait_that_a_client_prefers_is_a_deadline(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list("prefer\0respond-async\0prefer\0wait=1\0", "",
	                "{\"id\":\"a\",\"url\":\"/?ms=forever\"}");
	expect_outcomes("a=0timeout ");
	assert_string_equal(response_header(&calls_answer.response, "Preference-Applied"), "wait");
	calls_post_list("prefer\0wait=10\0", "\"deadline_ms\":50,",
	                "{\"id\":\"a\",\"url\":\"/?ms=forever\"}");
	expect_outcomes("a=0timeout ");
}

static void a_call_has_its_own_timeout(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "",
	                "{\"id\":\"a\",\"url\":\"/?ms=forever\",\"timeout_ms\":20},"
	                "{\"id\":\"b\",\"url\":\"/?ms=5\"}");
	expect_outcomes("a=0timeout b=200 ");
}

static void a_diamond_is_made_in_order(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "",
	                "{\"id\":\"d\",\"url\":\"/d\",\"dependsOn\":[\"b\",\"c\"]},"
	                "{\"id\":\"c\",\"url\":\"/c?ms=1\",\"dependsOn\":[\"a\"]},"
	                "{\"id\":\"b\",\"url\":\"/b?ms=60\",\"dependsOn\":[\"a\"]},"
	                "{\"id\":\"a\",\"url\":\"/a?ms=5\"}");
	expect_outcomes("d=200 c=200 b=200 a=200 ");
	{
		char *begun = echo_client_begun(calls_client);

		/* Which of the two in the middle begins first is not said. */
		assert_int_equal(strlen(begun), strlen("/a /b /c /d "));
		assert_int_equal(strncmp(begun, "/a ", 3), 0);
		assert_string_equal(begun + 9, "/d ");
		free(begun);
	}
}

static void what_depends_on_a_failure_is_not_made(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"order\":\"completion\",",
	                "{\"id\":\"c\",\"url\":\"/c\",\"dependsOn\":[\"b\"]},"
	                "{\"id\":\"b\",\"url\":\"/b\",\"dependsOn\":[\"a\"]},"
	                "{\"id\":\"a\",\"url\":\"/a?status=500\"}");
	expect_outcomes("a=500 b=424 c=424 ");
	expect_begun("/a ");
	expect_coverage("{\"requested\":3,\"succeeded\":0,\"percent\":0.0,"
	                "\"degraded\":{\"failed_dependency\":2,\"bad_status\":1}}");
}

static void a_cycle_is_refused(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "",
	                "{\"id\":\"a\",\"url\":\"/\",\"dependsOn\":[\"b\"]},"
	                "{\"id\":\"b\",\"url\":\"/\",\"dependsOn\":[\"a\"]}");
	calls_expect_problem(400, "/requests/0/dependsOn",
	                     "the call waits for itself, by way of others");
	expect_begun("");
}

static void results_stand_in_the_order_of_completion_if_asked_to(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"order\":\"completion\",",
	                "{\"id\":\"a\",\"url\":\"/?ms=80\"},{\"id\":\"b\",\"url\":\"/\"},"
	                "{\"id\":\"c\",\"url\":\"/\",\"dependsOn\":[\"a\"]}");
	expect_outcomes("b=200 a=200 c=200 ");
}

static void at_most_max_parallel_are_made_at_once(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "\"max_parallel\":1,\"order\":\"completion\",",
	                "{\"id\":\"a\",\"url\":\"/a?ms=20\"},{\"id\":\"b\",\"url\":\"/b?ms=10\"},"
	                "{\"id\":\"c\",\"url\":\"/c\"}");
	expect_outcomes("a=200 b=200 c=200 ");
}

static void a_long_chain_is_made_to_its_end(void **state)
{
	enum { COUNT = 500 };
	char *calls = strdup("{\"id\":\"0\",\"url\":\"/?bytes=0\"}");
	json_t *answer;

	(void)state;
	calls_set_up(20);
	for (unsigned i = 1; i < COUNT; i++) {
		char *longer;

		assert_true(asprintf(&longer,
		                     "%s,{\"id\":\"%u\",\"url\":\"/?bytes=0\","
		                     "\"dependsOn\":[\"%u\"]}",
		                     calls, i, i - 1) > 0);
		free(calls);
		calls = longer;
	}
	calls_post_list(NULL, "", calls);
	free(calls);
	answer = calls_parsed();
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(answer, "coverage"), "succeeded")),
	                 COUNT);
	json_decref(answer);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_teardown(name, calls_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_first_success_cancels_the_others),
		TEST(without_a_success_the_first_waits_for_all),
		TEST(a_quorum_of_two_cancels_the_others),
		TEST(the_first_failure_cancels_the_others_if_asked_to),
		TEST(what_never_starts_is_cancelled_too),
		TEST(at_the_deadline_what_is_not_in_is_a_timeout),
		TEST(the_wait_that_a_client_prefers_is_a_deadline),
		TEST(a_call_has_its_own_timeout),
		TEST(a_diamond_is_made_in_order),
		TEST(what_depends_on_a_failure_is_not_made),
		TEST(a_cycle_is_refused),
		TEST(results_stand_in_the_order_of_completion_if_asked_to),
		TEST(at_most_max_parallel_are_made_at_once),
		TEST(a_long_chain_is_made_to_its_end),
	};
#undef TEST

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
