#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients/upstream_settings.h"
#include "clients/url_allow.h"
#include "tests/unit/config_fixture.h"
#include "tests/with_cmocka.h"

#define STOCK(members) "{\"upstreams\": {\"stock\": {\"url\": \"http://a\", " members "}}}"

static void reads_all_that_an_upstream_can_have(void **state)
{
	const struct upstream_settings *stock;
	struct config config;

	(void)state;
	config_take("{\"upstreams\": {\"stock\": {\n"
	            "  \"url\": \"https://stock.internal:8443\", \"permits\": 50,\n"
	            "  \"permit_wait_ms\": 0, \"rate\": 1000, \"timeout_ms\": 700,\n"
	            "  \"connect_timeout_ms\": 200, \"ca\": \"/ca.pem\", \"http2\": true,\n"
	            "  \"headers\": {\"Accept\": \"a/b\", \"X-Key\": {\"env\": \"KEY\"}},\n"
	            "  \"retry\": {\"attempts\": 4, \"base_ms\": 10, \"max_ms\": 90},\n"
	            "  \"breaker\": {\"error_percent\": 30, \"min_calls\": 5, \"window_ms\": 900,\n"
	            "              \"open_ms\": 400},\n"
	            "  \"hedge\": {\"percentile\": 90, \"budget_percent\": 3}}}}",
	            NULL, (char *[]){"KE=no", "KEYS=no", "KEY=s3cr=t", NULL}, &config);
	assert_int_equal(config.upstream_count, 1);
	stock = config.upstreams;
	assert_string_equal(stock->name, "stock");
	assert_string_equal(stock->url, "https://stock.internal:8443");
	assert_int_equal(stock->limits.permits, 50);
	assert_int_equal(stock->limits.permit_wait_ms, 0);
	assert_int_equal(stock->limits.per_second, 1000);
	assert_int_equal(stock->timeout_ms, 700);
	assert_int_equal(stock->wire.connect_timeout_ms, 200);
	assert_string_equal(stock->wire.ca_file, "/ca.pem");
	assert_true(stock->wire.http2);
	assert_false(stock->wire.insecure);
	assert_int_equal(stock->header_count, 2);
	assert_string_equal(stock->headers[0].name, "Accept");
	assert_string_equal(stock->headers[0].value, "a/b");
	assert_string_equal(stock->headers[1].name, "X-Key");
	assert_string_equal(stock->headers[1].value, "s3cr=t");
	assert_int_equal(stock->retry.attempts, 4);
	assert_int_equal(stock->retry.base_ms, 10);
	assert_int_equal(stock->retry.max_ms, 90);
	assert_int_equal(stock->breaker.error_percent, 30);
	assert_int_equal(stock->breaker.min_calls, 5);
	assert_int_equal(stock->breaker.window_ms, 900);
	assert_int_equal(stock->breaker.open_ms, 400);
	assert_int_equal(stock->hedge.percentile, 90);
	assert_int_equal(stock->hedge.budget_percent, 3);
	config_finish(&config);
}

static void takes_what_an_upstream_leaves_out_from_the_flags(void **state)
{
	const struct upstream_settings *b;
	struct config config;

	(void)state;
	/* Also from those that stand behind it in the file. */
	config_take("{\"upstreams\": {\"a\": {\"url\": \"http://a/\", \"permits\": 0},\n"
	            "  \"b\": {\"url\": \"https://b\", \"rate\": 5}},\n"
	            " \"upstream-permits\": 9, \"permit-wait-ms\": 8, \"upstream-rate\": 7,\n"
	            " \"call-timeout-ms\": 6, \"connect-timeout-ms\": 5, \"upstream-ca\": \"/x\",\n"
	            " \"upstream-insecure\": true, \"upstream-http2\": true}",
	            "--call-timeout-ms=4", NO_ENVIRONMENT, &config);
	assert_int_equal(config.upstream_count, 2);
	assert_int_equal(config.upstreams[0].limits.permits, 0);
	b = &config.upstreams[1];
	assert_int_equal(b->limits.permits, 9);
	assert_int_equal(b->limits.permit_wait_ms, 8);
	assert_int_equal(b->limits.per_second, 5);
	assert_int_equal(b->timeout_ms, 4);
	assert_int_equal(b->wire.connect_timeout_ms, 5);
	assert_string_equal(b->wire.ca_file, "/x");
	assert_true(b->wire.insecure);
	assert_true(b->wire.http2);
	assert_int_equal(b->retry.attempts, 0);
	assert_int_equal(b->breaker.error_percent, 0);
	assert_int_equal(b->hedge.percentile, 0);
	assert_int_equal(b->header_count, 0);
	config_finish(&config);
}

static void has_defaults_for_what_is_switched_on(void **state)
{
	struct config config;

	(void)state;
	config_take(STOCK("\"retry\": {\"attempts\": 2}, \"breaker\": {}, \"hedge\": {}"), NULL,
	            NO_ENVIRONMENT, &config);
	assert_int_equal(config.upstreams->retry.attempts, 2);
	assert_int_equal(config.upstreams->retry.base_ms, RETRY_DEFAULTS.base_ms);
	assert_int_equal(config.upstreams->breaker.open_ms, BREAKER_DEFAULTS.open_ms);
	assert_int_equal(config.upstreams->hedge.percentile, HEDGE_DEFAULTS.percentile);
	config_finish(&config);
}

static void can_do_without_a_default_upstream(void **state)
{
	struct config config;

	(void)state;
	config_take(STOCK("\"http2\": false"), "--slow-listen=off", NO_ENVIRONMENT, &config);
	assert_null(config.upstream);
	config_finish(&config);
	config_write("{\"upstreams\": {}}", 17);
	assert_int_equal(config_parse_file("--slow-listen=off", NO_ENVIRONMENT, &config), -EINVAL);
	assert_non_null(strstr(config_error, "--upstream: must be given"));
}

static void says_where_an_upstream_is_wrong(void **state)
{
	(void)state;
	config_refuse("{\n\"upstreams\": []}", ":2:14: upstreams: is not an object");
	config_refuse("{\"upstreams\": {\"a\": 1}}", ":1:21: upstreams.a: is not an object");
	config_refuse("{\"upstreams\": {\"a\": {\"permits\": 1}}}",
	              ":1:21: upstreams.a: url is missing");
	config_refuse("{\"upstreams\": {\n \"a\": {\"url\": \"http://a\"},\n \"b c\": {}}}",
	              ":3:2: upstreams.b c: a name is 1 to 63 letters, digits, points, dashes and "
	              "underscores");
	config_refuse("{\"upstreams\": {\"\": {}}}",
	              ":1:16: upstreams.: a name is 1 to 63 letters, digits, points, dashes and "
	              "underscores");
	config_refuse("{\"upstreams\": {\"a\": {\"uri\": \"http://a\"}}}",
	              ":1:22: upstreams.a.uri: is none of url, permits, permit_wait_ms, rate, "
	              "timeout_ms, connect_timeout_ms, headers, retry, breaker, hedge, ca, http2");
	config_refuse("{\"upstreams\": {\"a\": {\"url\": \"http://a\",\n\"url\": \"http://a\"}}}",
	              ":2:1: duplicate object key near '\"url\"'");
	config_refuse("{\"upstreams\": {\"a\": {\"url\": \"ftp://a\"}}}",
	              ":1:29: upstreams.a.url: is not a URL to call: it does not start "
	              "with http:// or https://");
	config_refuse("{\"upstreams\": {\"a\": {\"url\": \"http://u:p@a\"}}}",
	              ":1:29: upstreams.a.url: is not a URL to call: a user or password is not "
	              "supported");
	config_refuse("{\"upstreams\": {\"a\": {\"url\": \"http://a/b\"}}}",
	              ":1:29: upstreams.a.url: '/b' is one path too many: calls bring theirs");
	config_refuse("{\"client\": \"http1\", \"upstreams\": {\"a\": {\"url\": \"https://a\"}}}",
	              ":1:40: upstreams.a: is https, which the client http1 does not speak");
	config_refuse(STOCK("\"permits\": \"5\""),
	              ":1:56: upstreams.stock.permits: is not a whole number");
	config_refuse(STOCK("\"timeout_ms\": 0"),
	              ":1:59: upstreams.stock.timeout_ms: 0 is not a number from 1 to 86400000");
	config_refuse(STOCK("\"rate\": 4294967296"),
	              ":1:53: upstreams.stock.rate: 4294967296 is not a number from 0 to 1000000");
	config_refuse(STOCK("\"http2\": 1"),
	              ":1:54: upstreams.stock.http2: is neither true nor false");
	config_refuse(STOCK("\"ca\": null"), ":1:51: upstreams.stock.ca: is not a string");
}

static void says_where_something_within_an_upstream_is_wrong(void **state)
{
	(void)state;
	config_refuse(STOCK("\"retry\": true"), ":1:54: upstreams.stock.retry: is not an object");
	config_refuse(STOCK("\"retry\": {\"attempt\": 3}"),
	              ":1:55: upstreams.stock.retry.attempt: is none of attempts, base_ms, max_ms");
	config_refuse(STOCK("\"retry\": {\"attempts\": 11}"),
	              ":1:67: upstreams.stock.retry.attempts: 11 is not a number from 1 to 10");
	config_refuse(STOCK("\"breaker\": {\"error_percent\": 101}"),
	              ":1:74: upstreams.stock.breaker.error_percent: 101 is not a number from 1 to "
	              "100");
	config_refuse(STOCK("\"hedge\": {\"percentile\": 95.5}"),
	              ":1:69: upstreams.stock.hedge.percentile: is not a whole number");
}

static void says_where_a_header_is_wrong_but_not_its_value(void **state)
{
	struct config config;

	(void)state;
	config_refuse(STOCK("\"headers\": []"), ":1:56: upstreams.stock.headers: is not an object");
	config_refuse(STOCK("\"headers\": {\"A b\": \"c\"}"),
	              ":1:57: upstreams.stock.headers.A b: is no name of a header");
	config_refuse(STOCK("\"headers\": {\"Host\": \"c\"}"),
	              ":1:57: upstreams.stock.headers.Host: is for the client alone to send");
	config_refuse(STOCK("\"headers\": {\"A\": \"b\", \"a\": \"c\"}"),
	              ":1:67: upstreams.stock.headers.a: comes twice");
	config_refuse(STOCK("\"headers\": {\"A\": \"s3cret\\r\\nB: c\"}"),
	              ":1:62: upstreams.stock.headers.A: its value cannot be sent: it has a blank "
	              "at an end or a control character");
	config_refuse(STOCK("\"headers\": {\"A\": 5}"),
	              ":1:62: upstreams.stock.headers.A: is neither a string nor {\"env\": "
	              "\"NAME\"}");
	config_refuse(STOCK("\"headers\": {\"A\": {\"env\": \"B\", \"c\": 1}}"),
	              ":1:62: upstreams.stock.headers.A: is neither a string nor {\"env\": "
	              "\"NAME\"}");
	config_refuse(STOCK("\"headers\": {\"A\": {\"env\": \"NO_SUCH\"}}"),
	              ":1:62: upstreams.stock.headers.A: NO_SUCH is not in the environment");
	config_write(STOCK("\"headers\": {\"A\": {\"env\": \"B\"}}"),
	             strlen(STOCK("\"headers\": {\"A\": {\"env\": \"B\"}}")));
	assert_int_equal(config_parse_file(NULL, (char *[]){"B=s3cret\n", NULL}, &config), -EINVAL);
	assert_null(strstr(config_error, "s3cret"));
}

static void reads_what_else_may_be_called(void **state)
{
	struct config config;

	(void)state;
	config_take("{\"allow\": [\"https://api.example.com\", \"http://*.example.org:8080\"]}",
	            NULL, NO_ENVIRONMENT, &config);
	assert_int_equal(config.allow_count, 2);
	assert_true(config.allow[0].is_tls);
	assert_string_equal(config.allow[0].host, "api.example.com");
	assert_true(config.allow[1].is_below);
	assert_int_equal(config.allow[1].port, 8080);
	config_finish(&config);
	config_take("{\"allow\": []}", NULL, NO_ENVIRONMENT, &config);
	assert_int_equal(config.allow_count, 0);
	config_finish(&config);
	config_refuse("{\"allow\": \"https://a\"}", ":1:11: allow: is not an array");
	config_refuse("{\"allow\": [\"https://a\",\n 5]}",
	              ":2:2: allow[1]: is no pattern of a URL: it is not a string");
	config_refuse(
		"{\"allow\": [\"https://u@a\"]}",
		":1:12: allow[0]: is no pattern of a URL: a user or password is not supported");
}

static char *print(const struct config *config)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(config_print(config, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void prints_all_of_it_but_secrets(void **state)
{
	struct config config;
	char *text;

	(void)state;
	config_take("{\"allow\": [\"https://api.example.com\"], \"queue\": 7,\n"
	            " \"upstreams\": {\"stock\": {\"url\": \"http://a\", \"rate\": 5,\n"
	            "  \"headers\": {\"X-A\": {\"env\": \"KEY\"}, \"X-B\": \"s3cret-b\"},\n"
	            "  \"hedge\": {\"percentile\": 90}}}}",
	            "--print-config", (char *[]){"KEY=s3cret-a", NULL}, &config);
	text = print(&config);
	assert_non_null(strstr(text, "queue = 7 (file)\n"));
	assert_non_null(strstr(text, "upstreams.stock.url = http://a (file)\n"));
	assert_non_null(strstr(text, "upstreams.stock.permits = any number (default)\n"));
	assert_non_null(strstr(text, "upstreams.stock.rate = 5 (file)\n"));
	assert_non_null(strstr(text, "upstreams.stock.ca = the system's (default)\n"));
	assert_non_null(strstr(text, "upstreams.stock.http2 = off (default)\n"));
	assert_non_null(strstr(text, "upstreams.stock.retry = none (default)\n"));
	assert_non_null(strstr(text, "upstreams.stock.hedge.percentile = 90 (file)\n"));
	assert_non_null(strstr(text, "upstreams.stock.hedge.budget_percent = 5 (default)\n"));
	assert_non_null(strstr(text, "allow[0] = https://api.example.com (file)\n"));
	assert_non_null(
		strstr(text, "upstreams.stock.headers.X-A = (redacted) (environment: KEY)\n"));
	assert_non_null(strstr(text, "upstreams.stock.headers.X-B = (redacted) (file)\n"));
	assert_null(strstr(text, "s3cret"));
	free(text);
	config_finish(&config);
}

static void prints_a_line_for_each_whatever_is_in_it(void **state)
{
	struct config config;
	char *text;

	(void)state;
	config_take(STOCK("\"ca\": \"a\\nb = c\""), "--print-config", NO_ENVIRONMENT, &config);
	text = print(&config);
	assert_non_null(strstr(text, "\nupstreams.stock.ca = a?b = c (file)\n"));
	free(text);
	config_finish(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_that_an_upstream_can_have),
		cmocka_unit_test(takes_what_an_upstream_leaves_out_from_the_flags),
		cmocka_unit_test(has_defaults_for_what_is_switched_on),
		cmocka_unit_test(can_do_without_a_default_upstream),
		cmocka_unit_test(says_where_an_upstream_is_wrong),
		cmocka_unit_test(says_where_something_within_an_upstream_is_wrong),
		cmocka_unit_test(says_where_a_header_is_wrong_but_not_its_value),
		cmocka_unit_test(reads_what_else_may_be_called),
		cmocka_unit_test(prints_all_of_it_but_secrets),
		cmocka_unit_test(prints_a_line_for_each_whatever_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
