#include <string.h>

#include "handlers/calls_reply.h"
#include "tests/with_cmocka.h"

enum { MEMORY_BYTES = 1 << 20 };

static struct text_buffer buffer;

static void expect_printed(const char *text)
{
	assert_int_equal(buffer.error, 0);
	assert_int_equal(buffer.length, strlen(text));
	assert_memory_equal(buffer.data, text, buffer.length);
	text_buffer_finish(&buffer);
}

static void expect_body(const char *content_type, const char *body, size_t length, const char *text)
{
	text_buffer_init(&buffer, 10000);
	calls_reply_print_body(&buffer, calls_reply_kind(content_type, body, length, MEMORY_BYTES),
	                       body, length);
	expect_printed(text);
}

#define BODY(content_type, body, text) expect_body(content_type, body, sizeof(body) - 1, text)

static void json_is_what_is_called_so_and_is_it(void **state)
{
	(void)state;
	BODY("application/json", "{\"a\": 1}", "{\"a\": 1}");
	BODY("Application/JSON;charset=utf-8", "[]", "[]");
	BODY("application/problem+json", "\"x\"", "\"x\"");
	BODY("application/json ; a=b", "null", "null");
	BODY("application/json", "1234567890123456789012345678901234567890",
	     "1234567890123456789012345678901234567890");
	BODY("application/json", "0.10", "0.10");
	BODY("application/json", "{\"a\":\"\\u0000\",\"a\":2}", "{\"a\":\"\\u0000\",\"a\":2}");

	BODY("text/plain", "{\"a\": 1}", "\"{\\\"a\\\": 1}\"");
	BODY("application/jsonp", "1", "\"1\"");
	BODY("json", "1", "\"1\"");
	BODY("+json", "1", "\"1\"");
	BODY("text/html; x=+json", "1", "\"1\"");
	BODY(NULL, "1", "\"1\"");
	BODY("application/json", "", "\"\"");
	BODY("application/json", "{", "\"{\"");
	BODY("application/json", "1 2", "\"1 2\"");
	BODY("application/json", "NaN", "\"NaN\"");
}

static void json_stays_on_one_line(void **state)
{
	(void)state;
	BODY("application/json", "\r\n{\n\"a\":\r1}\n\n", "  { \"a\": 1}  ");
	BODY("application/json", "\"a\\nb\"", "\"a\\nb\"");
}

static void text_is_utf8_without_nul_and_the_rest_is_base64(void **state)
{
	(void)state;
	BODY("text/plain", "", "\"\"");
	BODY("text/plain", "a\n\"\xc3\xa4\x01", "\"a\\n\\\"\xc3\xa4\\u0001\"");
	BODY("text/plain", "a\0b", "{\"base64\":\"YQBi\"}");
	BODY("text/plain", "\xe4", "{\"base64\":\"5A==\"}");
	BODY("application/json", "\"\xe4\"", "{\"base64\":\"IuQi\"}");
	BODY("application/json", "\"a\0\"", "{\"base64\":\"ImEAIg==\"}");
}

static void json_that_is_too_deep_or_takes_too_much_is_text(void **state)
{
	enum { DEEPEST = 64 };
	char deep[2 * (DEEPEST + 1) + 1];

	(void)state;
	for (size_t depth = DEEPEST; depth <= DEEPEST + 1; depth++) {
		memset(deep, '[', depth);
		memset(deep + depth, ']', depth);
		deep[2 * depth] = '\0';
		assert_int_equal(
			calls_reply_kind("application/json", deep, 2 * depth, MEMORY_BYTES),
			depth == DEEPEST ? CALLS_REPLY_JSON : CALLS_REPLY_TEXT);
	}
	assert_int_equal(calls_reply_kind("application/json", "[1,2,3,4]", 9, 100),
	                 CALLS_REPLY_TEXT);
}

static void headers_that_tell_of_the_body_are_shown(void **state)
{
	static const struct http_header headers[] = {
		{"CONTENT-TYPE", "a/b"},  {"Set-Cookie", "secret"}, {"Link", "<a>"},
		{"X-Internal", "secret"}, {"link", "<b>"},          {"Vary", "\xe4\"\\"},
		{"etag", "\xc3\xa4"},
	};

	(void)state;
	text_buffer_init(&buffer, 10000);
	calls_reply_print_headers(&buffer, headers, sizeof(headers) / sizeof(headers[0]));
	expect_printed("{\"content-type\":\"a/b\",\"link\":\"<a>, <b>\","
	               "\"vary\":\"\xc3\xa4\\\"\\\\\",\"etag\":\"\xc3\xa4\"}");
	text_buffer_init(&buffer, 10000);
	calls_reply_print_headers(&buffer, NULL, 0);
	expect_printed("{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_what_is_called_so_and_is_it),
		cmocka_unit_test(json_stays_on_one_line),
		cmocka_unit_test(text_is_utf8_without_nul_and_the_rest_is_base64),
		cmocka_unit_test(json_that_is_too_deep_or_takes_too_much_is_text),
		cmocka_unit_test(headers_that_tell_of_the_body_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
