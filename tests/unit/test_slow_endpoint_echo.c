#include <stdlib.h>
#include <string.h>

#include "server/slow_endpoint_echo.h"
#include "server/slow_endpoint_share.h"
#include "tests/with_cmocka.h"

static void assert_echo(const char *head, const char *body, size_t body_bytes, const char *expected)
{
	struct slow_echo echo;

	assert_int_equal(slow_echo_begin(&echo, head, strlen(head)), 0);
	for (size_t i = 0; i < body_bytes; i++)
		assert_int_equal(slow_echo_add(&echo, body + i, 1), 0);
	assert_int_equal(slow_echo_end(&echo), 0);
	assert_int_equal(echo.length, strlen(expected));
	assert_memory_equal(echo.text, expected, echo.length);
	slow_echo_finish(&echo);
	assert_null(echo.text);
}

static void method_target_and_fields_stand_as_they_came(void **state)
{
	(void)state;
	assert_echo("PUT /echo?a=1&b HTTP/1.1\r\nHost: a\r\nX-Tw:\t1, 2 \r\nhost:b\r\n\r\n", "", 0,
	            "{\"method\":\"PUT\",\"target\":\"/echo?a=1&b\",\"headers\":"
	            "[[\"Host\",\"a\"],[\"X-Tw\",\"1, 2\"],[\"host\",\"b\"]],\"body\":\"\"}");
	assert_echo("\r\n\r\nGET /echo HTTP/1.1\r\n\r\n", "", 0,
	            "{\"method\":\"GET\",\"target\":\"/echo\",\"headers\":[],\"body\":\"\"}");
}

static void what_json_has_no_place_for_is_escaped(void **state)
{
	(void)state;
	assert_echo("GET /echo?\"\\ HTTP/1.1\r\nA: \"\t\\\r\n\r\n", "\0\n\x1f\"\\\x7f\xc3\xa4", 8,
	            "{\"method\":\"GET\",\"target\":\"/echo?\\\"\\\\\",\"headers\":"
	            "[[\"A\",\"\\\"\\u0009\\\\\"]],"
	            "\"body\":\"\\u0000\\u000a\\u001f\\\"\\\\\x7f\xc3\xa4\"}");
}

static void a_share_is_spread_evenly_and_exact(void **state)
{
	struct slow_shares shares = {0};
	unsigned taken = 0;

	(void)state;
	for (unsigned i = 1; i <= 1000; i++) {
		bool is_taken = slow_shares_take(&shares, 5);

		/* Others in between do not change it. */
		assert_false(slow_shares_take(&shares, 0));
		assert_true(slow_shares_take(&shares, 100));
		assert_int_equal(is_taken, i % 20 == 0);
		taken += slow_shares_take(&shares, 33);
	}
	assert_int_equal(taken, 330);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(method_target_and_fields_stand_as_they_came),
		cmocka_unit_test(what_json_has_no_place_for_is_escaped),
		cmocka_unit_test(a_share_is_spread_evenly_and_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
