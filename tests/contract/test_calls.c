#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/contract/calls_fixture.h"
#include "tests/contract/over_executor.h"

/* What calls are made for a list, and how the answer tells of them. */

static void each_result_is_under_its_id_in_the_order_of_the_list(void **state)
{
	(void)state;
	calls_set_up(20);
	calls_post_list(NULL, "",
	                "{\"id\":\"slow\",\"url\":\"/a?ms=30&as=text\"},"
	                "{\"id\":\"bad\",\"url\":\"/b?status=503&as=text\"},"
	                "{\"id\":\"\\\"<\\u0007\\u00e4>\",\"url\":\"/c?error=reset\"},"
	                "{\"id\":\"none\",\"url\":\"/d?bytes=0\",\"upstream\":\"two\"}");
	assert_int_equal(calls_answer.response.status, 200);
	assert_string_equal(calls_answer.response.content_type, "application/json");
	calls_expect_text(
		"{\"responses\":["
		"{\"id\":\"slow\",\"status\":200,\"headers\":{\"content-type\":\"text/plain\","
		"\"etag\":\"\\\"1\\\"\"},\"body\":\"/a\",\"ms\":0.0,\"attempts\":1},"
		"{\"id\":\"bad\",\"status\":503,\"headers\":{\"content-type\":\"text/plain\","
		"\"etag\":\"\\\"1\\\"\"},\"body\":\"/b\",\"ms\":0.0,\"attempts\":1},"
		"{\"id\":\"\\\"<\\u0007\xc3\xa4>\",\"error\":\"reset\",\"ms\":0.0,"
		"\"attempts\":1},"
		"{\"id\":\"none\",\"status\":200,\"headers\":{\"content-type\":\"text/plain\","
		"\"etag\":\"\\\"1\\\"\"},\"body\":\"\",\"ms\":0.0,\"attempts\":1}],"
		"\"coverage\":{\"requested\":4,\"succeeded\":2,\"percent\":50.0,"
		"\"degraded\":{\"reset\":1,\"bad_status\":1}}}");
}

/* The body of the only response: what the upstream has seen. */
static json_t *seen(const char *call)
{
	json_t *answer, *body;

	calls_post_list(NULL, "", call);
	answer = calls_parsed();
	body = json_object_get(json_array_get(json_object_get(answer, "responses"), 0), "body");
	if (!json_is_object(body))
		fail_msg("%s", calls_answer.text);
	json_incref(body);
	json_decref(answer);
	return body;
}

static void expect_seen(const char *call, const char *member, const char *expected)
{
	json_t *body = seen(call);
	char *text = json_dumps(json_object_get(body, member), JSON_ENCODE_ANY | JSON_COMPACT);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	json_decref(body);
}

static void calls_go_where_they_are_told(void **state)
{
	(void)state;
	calls_set_up(20);
	expect_seen("{\"id\":\"a\",\"url\":\"/x?y=1\"}", "url", "\"http://one.example/x?y=1\"");
	expect_seen("{\"id\":\"a\",\"url\":\"/\",\"upstream\":\"two\"}", "url",
	            "\"http://two.example:8080/\"");
	expect_seen("{\"id\":\"a\",\"url\":\"//three.example/\"}", "url",
	            "\"http://one.example//three.example/\"");
	expect_seen("{\"id\":\"a\",\"url\":\"/\"}", "method", "\"GET\"");
	expect_seen("{\"id\":\"a\",\"url\":\"/\",\"method\":\"delete\"}", "method", "\"DELETE\"");
}

static void headers_of_the_call_take_the_place_of_those_that_are_configured(void **state)
{
	(void)state;
	calls_set_up(20);
	expect_seen("{\"id\":\"a\",\"url\":\"/\"}", "headers", "{}");
	expect_seen("{\"id\":\"a\",\"url\":\"/\",\"upstream\":\"two\"}", "headers",
	            "{\"X-Key\":\"secret\",\"X-Tier\":\"gold\"}");
	expect_seen("{\"id\":\"a\",\"url\":\"/\",\"upstream\":\"two\","
	            "\"headers\":{\"x-tier\":\"tin\",\"accept\":\"a/b\"}}",
	            "headers", "{\"x-tier\":\"tin\",\"accept\":\"a/b\",\"X-Key\":\"secret\"}");
}

static void bodies_are_sent_as_json_text_or_bytes(void **state)
{
#define PUT "{\"id\":\"a\",\"url\":\"/\",\"method\":\"PUT\""
	(void)state;
	calls_set_up(20);
	expect_seen(PUT "}", "bytes", "0");
	expect_seen(PUT ",\"body\":[1,  true]}", "body", "\"[1,true]\"");
	expect_seen(PUT ",\"body\":null}", "body", "\"null\"");
	expect_seen(PUT ",\"body\":{\"b\": 1,\"a\":2}}", "bytes", "13");
	expect_seen(PUT ",\"body\":1}", "headers", "{\"Content-Type\":\"application/json\"}");
	expect_seen(PUT ",\"headers\":{\"content-type\":\"a/b\"},\"body\":\"hi\"}", "body",
	            "\"hi\"");
	expect_seen(PUT ",\"headers\":{\"content-type\":\"a/b\"},\"body\":1}", "headers",
	            "{\"content-type\":\"a/b\"}");
	expect_seen(PUT ",\"body\":{\"base64\":\"aGk=\"}}", "body", "\"hi\"");
	expect_seen(PUT ",\"body\":{\"base64\":\"\"}}", "bytes", "0");
	expect_seen(PUT ",\"body\":{\"base64\":\"aGk=\"}}", "headers",
	            "{\"Content-Type\":\"application/octet-stream\"}");
#undef PUT
}

static void what_only_the_configuration_can_tell_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *calls, *pointer, *detail;
	} violations[] = {
		{"{\"id\":\"a\",\"url\":\"/\"},{\"id\":\"b\",\"url\":\"/\",\"upstream\":\"three\"}",
	         "/requests/1/upstream", "is not the name of an upstream"},
		{"{\"id\":\"a\",\"url\":\"/\",\"method\":\"PUT\",\"body\":{\"base64\":\"a\"}}",
	         "/requests/0/body/base64", "is not base64"},
		{"{\"id\":\"a\",\"url\":\"/\",\"dependsOn\":[\"a\"]}", "/requests/0/dependsOn/0",
	         "is the call itself"},
		{"{\"id\":\"a\"}", "/requests/0", "url is missing"},
	};

	(void)state;
	calls_set_up(20);
	for (size_t i = 0; i < sizeof(violations) / sizeof(violations[0]); i++) {
		calls_post_list(NULL, "", violations[i].calls);
		calls_expect_problem(400, violations[i].pointer, violations[i].detail);
	}
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_teardown(name, calls_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_result_is_under_its_id_in_the_order_of_the_list),
		TEST(calls_go_where_they_are_told),
		TEST(headers_of_the_call_take_the_place_of_those_that_are_configured),
		TEST(bodies_are_sent_as_json_text_or_bytes),
		TEST(what_only_the_configuration_can_tell_is_refused_with_its_place),
	};
#undef TEST

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
