#include <string.h>

#include "clients/http_header.h"
#include "tests/with_cmocka.h"

static bool is_valid(const char *name, const char *value)
{
	return http_header_is_valid(&(struct http_header){name, value});
}

static void names_are_tokens(void **state)
{
	static const char *const bad[] = {"",      "a b",   "a:",       ":a",    "a\r\nb",
	                                  "a\tb",  "(a)",   "a/b",      "a@b",   "a[b]",
	                                  "\"a\"", "a\x7f", "\xc3\xa4", "a\x01", "{a}",
	                                  "a=b",   "a,b",   "a;b",      "a?b",   "a\\b"};

	(void)state;
	assert_true(is_valid("X-Request-Id", "a"));
	assert_true(is_valid("!#$%&'*+-.^_`|~09azAZ", "a"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (is_valid(bad[i], "a"))
			fail_msg("\"%s\" is no name", bad[i]);
	assert_false(http_header_name_is_valid("a\0b", 3));
}

static void values_are_one_line(void **state)
{
	static const char *const bad[] = {"a\r\nb: c", "a\rb", "a\nb", "\n",  "a\x7f", "\x1b[1m",
	                                  " a",        "a ",   "\ta",  "a\t", " "};

	(void)state;
	assert_true(is_valid("a", ""));
	assert_true(is_valid("a", "b, c;\td=\"e\" (f) \\ \xc3\xa4"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (is_valid("a", bad[i]))
			fail_msg("\"%s\" is no value", bad[i]);
	for (size_t at = 0; at < 20; at++) {
		char value[21] = "abcdefgh\xff\x80~!ijklmnop";

		assert_true(http_header_value_is_valid(value, 20));
		value[at] = 0x7f;
		assert_false(http_header_value_is_valid(value, 20));
		value[at] = 0x1f;
		assert_false(http_header_value_is_valid(value, 20));
		value[at] = '\t';
		assert_true(http_header_value_is_valid(value, 20) == (at > 0 && at < 19));
	}
	assert_false(http_header_value_is_valid("a\0b", 3));
}

static void fields_are_found_whatever_their_case(void **state)
{
	static const struct http_header headers[] = {
		{"Content-Type", "a"}, {"ETAG", "b"}, {"etag", "c"}};

	(void)state;
	assert_string_equal(http_header_find(headers, 3, "content-type"), "a");
	assert_string_equal(http_header_find(headers, 3, "ETag"), "b");
	assert_null(http_header_find(headers, 3, "ETa"));
	assert_null(http_header_find(headers, 1, "ETag"));
	assert_null(http_header_find(NULL, 0, "ETag"));
}

static void what_is_of_one_connection_is_not_for_calls(void **state)
{
	static const char *const hops[] = {"connection",       "KEEP-ALIVE",         "te",
	                                   "Trailer",          "transfer-encoding",  "Upgrade",
	                                   "Proxy-Connection", "proxy-authorization"};
	static const char *const ours[] = {"host", "CONTENT-LENGTH", "Expect"};

	(void)state;
	for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++) {
		assert_true(http_header_is_hop_by_hop(hops[i]));
		assert_true(http_header_is_reserved(hops[i]));
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		assert_false(http_header_is_hop_by_hop(ours[i]));
		assert_true(http_header_is_reserved(ours[i]));
	}
	assert_false(http_header_is_reserved("Hosts"));
	assert_false(http_header_is_reserved("Authorization"));
	assert_false(http_header_is_reserved("Content-Type"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_tokens),
		cmocka_unit_test(values_are_one_line),
		cmocka_unit_test(fields_are_found_whatever_their_case),
		cmocka_unit_test(what_is_of_one_connection_is_not_for_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
