#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/contract/calls_fixture.h"
#include "tests/contract/over_executor.h"

/* The forms of the answer, and what is done when there is no room or nobody reads. */

#define NDJSON "accept\0application/x-ndjson\0"
#define EVENTS "accept\0text/event-stream\0"

#define RESULT_A                                                                                   \
	"{\"id\":\"a\",\"status\":200,\"headers\":{\"content-type\":\"text/plain\","               \
	"\"etag\":\"\\\"1\\\"\"},\"body\":\"/a\",\"ms\":0.0,\"attempts\":1}"
#define RESULT_B "{\"id\":\"b\",\"error\":\"reset\",\"ms\":0.0,\"attempts\":1}"
#define COVERAGE "{\"requested\":2,\"succeeded\":1,\"percent\":50.0,\"degraded\":{\"reset\":1}}"

static const char two_calls[] = "{\"id\":\"a\",\"url\":\"/a?as=text&ms=50\"},"
				"{\"id\":\"b\",\"url\":\"/b?error=reset\"}";

static void lines_come_as_calls_are_over_and_the_coverage_last(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NDJSON, "", two_calls);
	assert_true(calls_answer.response.is_streamed);
	assert_int_equal(calls_answer.response.stream_error, 0);
	assert_int_equal(calls_answer.response.status, 200);
	assert_string_equal(calls_answer.response.content_type, "application/x-ndjson");
	assert_string_equal(response_header(&calls_answer.response, "cache-control"), "no-store");
	calls_expect_text(RESULT_B "\n" RESULT_A "\n{\"coverage\":" COVERAGE "}\n");
	assert_int_equal(calls_answer.writes, 3);
}

static void events_have_the_same_in_them(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(EVENTS, "\"order\":\"completion\",", two_calls);
	assert_string_equal(calls_answer.response.content_type, "text/event-stream");
	calls_expect_text("data: " RESULT_B "\n\ndata: " RESULT_A "\n\n"
	                  "event: coverage\ndata: " COVERAGE "\n\n");
}

static void json_of_a_service_stays_on_one_line(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NDJSON, "", "{\"id\":\"a\",\"url\":\"/\"}");
	assert_non_null(strstr(calls_answer.text,
	                       "\"body\":{\"method\": \"GET\",  \"url\": "
	                       "\"http://one.example/\",   \"headers\": {}, \"bytes\": 0,  "
	                       "\"body\": \"\"} ,\"ms\":"));
}

static void bytes_are_in_base64(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "", "{\"id\":\"a\",\"url\":\"/?as=bytes\"}");
	assert_non_null(strstr(calls_answer.text, "\"body\":{\"base64\":\"//4=\"},"));
}

static void what_cannot_be_written_is_not_acceptable(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list("accept\0text/html\0accept\0image/png\0", "", two_calls);
	calls_expect_problem(406, NULL,
	                     "answers are application/json, application/x-ndjson or "
	                     "text/event-stream");
	calls_post_list("accept\0text/html\0accept\0*/*;q=0.1\0", "", two_calls);
	assert_int_equal(calls_answer.response.status, 200);
	assert_string_equal(calls_answer.response.content_type, "application/json");
}

static void a_stream_has_no_other_order(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NDJSON, "\"order\":\"input\",", two_calls);
	calls_expect_problem(400, "/order", "a stream is in the order of completion");
}

static void the_query_is_read_strictly(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post(NULL, "n=1", "{}");
	assert_int_equal(calls_answer.response.status, 400);
	assert_non_null(strstr(calls_answer.text, "\"parameter\":\"n\""));
}

static size_t count_lines(void)
{
	size_t lines = 0;

	for (const char *at = calls_answer.text; *at; at++)
		lines += *at == '\n';
	return lines;
}

static void a_client_that_goes_ends_the_calls(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_answer.fail_at = 2;
	calls_post_list(NDJSON, "",
	                "{\"id\":\"a\",\"url\":\"/\"},{\"id\":\"b\",\"url\":\"/\"},"
	                "{\"id\":\"c\",\"url\":\"/?ms=forever\"}");
	assert_int_equal(calls_answer.response.stream_error, -ECANCELED);
	assert_int_equal(count_lines(), 1);
	assert_int_equal(calls_answer.writes, 2);
}

static void a_reader_that_is_too_slow_is_cut_off(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_answer.fail_at = 3;
	calls_answer.gives_up_late = true;
	calls_post_list(NDJSON, "", two_calls);
	assert_int_equal(calls_answer.response.stream_error, -ETIMEDOUT);
	assert_int_equal(count_lines(), 2);
}

/* @count calls whose replies have so many bytes. To be freed. */
static char *list_of(unsigned count, unsigned bytes)
{
	char *calls = strdup("");

	for (unsigned i = 0; i < count; i++) {
		char *longer;

		assert_true(asprintf(&longer, "%s%s{\"id\":\"%u\",\"url\":\"/?bytes=%u\"}", calls,
		                     i > 0 ? "," : "", i, bytes) > 0);
		free(calls);
		calls = longer;
	}
	return calls;
}

static void set_up_with_memory(size_t bytes)
{
	calls_options = (struct calls_options){
		.limits = {.max_n = 1000,
	                   .deadline_ms = CALLS_DEADLINE_MS,
	                   .max_memory_bytes = bytes},
		.call_timeout_ms = 10000,
		.max_reply_bytes = 1 << 20,
	};
	calls_set_up(200);
}

static json_int_t counted(const char *name)
{
	json_t *answer = calls_parsed(), *coverage = json_object_get(answer, "coverage");
	json_t *count = json_object_get(coverage, name);
	json_int_t value;

	if (!count)
		count = json_object_get(json_object_get(coverage, "degraded"), name);
	value = json_integer_value(count);
	json_decref(answer);
	return value;
}

static void replies_for_which_there_is_no_room_are_too_large(void **state)
{
	char *calls = list_of(20, 100000);

	(void)state;
	set_up_with_memory(1 << 20);
	calls_post_list(NULL, "", calls);
	assert_int_equal(calls_answer.response.status, 200);
	assert_in_range(counted("succeeded"), 5, 10);
	assert_int_equal(counted("too_large"), 20 - counted("succeeded"));
	free(calls);
}

/* When replies have taken all there was, telling of hundreds more takes nothing. */
static void an_answer_has_room_for_all_that_fail(void **state)
{
	char *calls = list_of(900, 3000);

	(void)state;
	set_up_with_memory(2 << 20);
	calls_post_list(NULL, "", calls);
	assert_int_equal(calls_answer.response.status, 200);
	assert_in_range(counted("succeeded"), 50, 500);
	assert_int_equal(counted("too_large"), 900 - counted("succeeded"));
	free(calls);
}

static void a_stream_holds_no_reply_that_has_been_written(void **state)
{
	char *calls = list_of(50, 100000);

	(void)state;
	set_up_with_memory(1 << 20);
	calls_post_list(NDJSON, "", calls);
	assert_int_equal(calls_answer.response.stream_error, 0);
	assert_int_equal(count_lines(), 51);
	assert_non_null(strstr(calls_answer.text, "\"succeeded\":50,"));
	free(calls);
}

static void a_list_for_which_there_is_no_room_is_refused(void **state)
{
	char *calls = list_of(500, 0);

	(void)state;
	set_up_with_memory(100000);
	calls_post_list(NULL, "", calls);
	calls_expect_problem(
		503, NULL,
		"the calls need more than the 100000 bytes of max-request-bytes-in-memory");
	assert_string_equal(response_header(&calls_answer.response, "retry-after"), "1");
	free(calls);
}

static void when_all_are_turned_away_it_is_a_503_with_the_same_body(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "", "{\"id\":\"a\",\"url\":\"/?error=no_permit\"}");
	assert_int_equal(calls_answer.response.status, 503);
	assert_string_equal(calls_answer.response.content_type, "application/json");
	assert_string_equal(response_header(&calls_answer.response, "retry-after"), "1");
	calls_expect_text("{\"responses\":[{\"id\":\"a\",\"error\":\"no_permit\",\"ms\":0.0,"
	                  "\"attempts\":1}],\"coverage\":{\"requested\":1,\"succeeded\":0,"
	                  "\"percent\":0.0,\"degraded\":{\"no_permit\":1}}}");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_teardown(name, calls_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(lines_come_as_calls_are_over_and_the_coverage_last),
		TEST(events_have_the_same_in_them),
		TEST(json_of_a_service_stays_on_one_line),
		TEST(bytes_are_in_base64),
		TEST(what_cannot_be_written_is_not_acceptable),
		TEST(a_stream_has_no_other_order),
		TEST(the_query_is_read_strictly),
		TEST(a_client_that_goes_ends_the_calls),
		TEST(a_reader_that_is_too_slow_is_cut_off),
		TEST(replies_for_which_there_is_no_room_are_too_large),
		TEST(an_answer_has_room_for_all_that_fail),
		TEST(a_stream_holds_no_reply_that_has_been_written),
		TEST(a_list_for_which_there_is_no_room_is_refused),
		TEST(when_all_are_turned_away_it_is_a_503_with_the_same_body),
	};
#undef TEST

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
