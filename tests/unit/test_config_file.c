#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/json_place.h"
#include "tests/unit/config_fixture.h"
#include "tests/with_cmocka.h"

static void takes_settings_under_the_names_of_their_flags(void **state)
{
	struct config config;

	(void)state;
	config_take("{\n"
	            "\t\"$schema\": \"config.schema.json\",\n"
	            "\t\"listen\": \"[::1]:80\", \"pool-threads\": 7, \"carriers\": \"auto\",\n"
	            "\t\"compare\": true, \"experiments\": false, \"when-full\": \"wait\",\n"
	            "\t\"max-request-bytes-in-memory\": 1099511627776, \"slow-listen\": \"off\",\n"
	            "\t\"executor\": \"pool\", \"upstream\": \"http:\\/\\/a\\u002fb\"\n"
	            "}\n",
	            NULL, NO_ENVIRONMENT, &config);
	assert_string_equal(config.listen.host, "::1");
	assert_int_equal(config.listen.port, 80);
	assert_int_equal(config.pool_threads, 7);
	assert_int_equal(config.carriers, 0);
	assert_true(config.compare);
	assert_false(config.experiments);
	assert_int_equal(config.when_full, WHEN_FULL_WAIT);
	assert_true(config.max_request_bytes_in_memory == UINT64_C(1) << 40);
	assert_string_equal(config.slow_listen.host, "");
	assert_string_equal(config.executor, "pool");
	assert_string_equal(config.upstream, "http://a/b");
	config_finish(&config);
	config_finish(&config);
}

static void prefers_flag_to_environment_to_file_to_default(void **state)
{
	static const char text[] = "{\"queue\": 5, \"max-n\": 6, \"pool-threads\": 7}";
	struct config config;

	(void)state;
	config_take(text, "--queue=1", (char *[]){"FANOUTD_QUEUE=2", "FANOUTD_MAX_N=3", NULL},
	            &config);
	assert_int_equal(config.queue, 1);
	assert_int_equal(config.max_n, 3);
	assert_int_equal(config.pool_threads, 7);
	assert_int_equal(config.max_threads, 4096);
	config_finish(&config);
}

static void takes_a_file_that_the_environment_names(void **state)
{
	char variable[64];
	struct config config;

	(void)state;
	config_write("{\"queue\": 5}", 12);
	assert_true(snprintf(variable, sizeof(variable), "FANOUTD_CONFIG=%s", config_path) > 0);
	assert_int_equal(config_parse(1, (char *[]){"fanoutd", NULL}, (char *[]){variable, NULL},
	                              &config, config_error, sizeof(config_error)),
	                 0);
	assert_int_equal(config.queue, 5);
	config_finish(&config);
	/* A flag may do without it. */
	assert_int_equal(config_parse(2, (char *[]){"fanoutd", "--config=", NULL},
	                              (char *[]){variable, NULL}, &config, config_error,
	                              sizeof(config_error)),
	                 0);
	assert_int_equal(config.queue, 10000);
	config_finish(&config);
}

static void reads_the_file_again(void **state)
{
	struct config config, again;

	(void)state;
	config_take("{\"queue\": 5}", "--max-n=3", NO_ENVIRONMENT, &config);
	assert_int_equal(truncate(config_path, 0), 0);
	assert_int_equal(config_parse_again(&config, &again, config_error, sizeof(config_error)),
	                 -EINVAL);
	assert_string_equal(config_error + strlen(config_path),
	                    ":1:1: '[' or '{' expected near end of file");
	config_finish(&config);
}

static void says_where_the_text_is_not_json(void **state)
{
	(void)state;
	config_refuse("", ":1:1: '[' or '{' expected near end of file");
	config_refuse("{\n  \"queue\": 5,\n  \"max-n\" 6\n}\n", ":3:11: ':' expected near '6'");
	config_refuse("{\"queue\": 5 \"max-n\": 6}", ":1:13: '}' expected near '\"max-n\"'");
	config_refuse("{\"queue\": 5,}", ":1:13: string or '}' expected near '}'");
	config_refuse("{\"queue\": fife}", ":1:11: invalid token near 'fife'");
	config_refuse("{\"queue\": 5", ":1:12: '}' expected near end of file");
	config_refuse("{\"queue\": 5}\n{}\n", ":2:1: end of file expected near '{'");
	config_refuse("{\n\"client\": \"cu\nrl\"}", ":2:11: unexpected newline near '\"cu'");
	config_refuse("{\"client\": \"\\q\"}", ":1:12: invalid escape near '\"\\q'");
	config_refuse("{\"queue\": 99999999999999999999}",
	              ":1:11: too big integer near '99999999999999999999'");
	config_refuse_bytes("{\"a\":\n \"\xc3\xa9\xff\"}", 13,
	                    ":2:4: unable to decode byte 0xff near '\"\xc3\xa9'");
	config_refuse_bytes("{\"a\": \"x\0y\"}", 12, ":1:7: control character 0x0 near '\"x'");
	config_refuse("{\"a\": \"x\\u0000y\"}",
	              ":1:7: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"x\\u0000y\"'");
	config_refuse("[1]", ":1:1: a configuration is an object");
}

static void says_where_a_key_is_wrong(void **state)
{
	(void)state;
	config_refuse("{\n  \"queue\": 5,\n  \"queu\": 6\n}",
	              ":3:3: queu: is no setting; --help lists them");
	config_refuse("{\"queue\": 5,\n\"queue\": 6}",
	              ":2:1: duplicate object key near '\"queue\"'");
	config_refuse("{\"client\": \"auto\", \"root\": \"/\"}",
	              ":1:20: root: is for the command line alone");
	config_refuse("{ \"config\": \"x\"}", ":1:3: config: is for the command line alone");
	config_refuse("{\"help\": true}", ":1:2: help: is no setting; --help lists them");
	config_refuse("{\"\": 1}", ":1:2: : is no setting; --help lists them");
	config_refuse("{\"\xc3\xa9\": 1}", ":1:2: \xc3\xa9: is no setting; --help lists them");
	config_refuse("{\"a\\nb\": 1}", ":1:2: a?b: is no setting; --help lists them");
}

static void says_where_a_value_is_wrong(void **state)
{
	(void)state;
	config_refuse("{\n \"client\": \"x{\\\"[,\",\"queue\" :\n0}",
	              ":2:12: client: 'x{\"[,' is not one of auto, http1, curl");
	config_refuse("{\"client\": \"auto\", \"queue\" :\n\t0}",
	              ":2:2: queue: '0' is not a number from 1 to 10000000");
	config_refuse("{\"queue\": -1}", ":1:11: queue: '-1' is not a number from 1 to 10000000");
	config_refuse("{\"queue\": 1.0}", ":1:11: queue: is not a whole number");
	config_refuse("{\"queue\": 1e3}", ":1:11: queue: is not a whole number");
	config_refuse("{\"queue\": \"5\"}", ":1:11: queue: is not a whole number");
	config_refuse("{\"carriers\": \"some\"}",
	              ":1:14: carriers: is not a whole number, nor auto");
	config_refuse("{\"queue\": null}", ":1:11: queue: is not a whole number");
	config_refuse("{\"compare\": \"on\"}", ":1:13: compare: is neither true nor false");
	config_refuse("{\"compare\": 1}", ":1:13: compare: is neither true nor false");
	config_refuse("{\"client\": true}", ":1:12: client: is not a string");
	config_refuse("{\"$schema\": 1}", ":1:13: $schema: is not a string");
	config_refuse("{\"listen\": [\"a:1\"]}", ":1:12: listen: is not a string");
	config_refuse("{\"\xc3\xa9\": 1}", ":1:2: \xc3\xa9: is no setting; --help lists them");
	config_refuse("{\"$schema\": \"\xc3\xa9\xe2\x82\xac\", \"queue\": 0}",
	              ":1:28: queue: '0' is not a number from 1 to 10000000");
}

static void wants_all_of_the_file_to_be_right(void **state)
{
	static const char text[] = "{\"queue\": 0}";
	struct config config;

	(void)state;
	config_write(text, strlen(text));
	assert_int_equal(config_parse_file("--queue=5", NO_ENVIRONMENT, &config), -EINVAL);
	assert_int_equal(config_parse_file("--check-config", NO_ENVIRONMENT, &config), -EINVAL);
	assert_int_equal(config_parse_file("--help", NO_ENVIRONMENT, &config),
	                 0); /* to be had whatever is in it */
}

static void says_why_a_file_cannot_be_read(void **state)
{
	char *arguments[] = {"fanoutd", "--config", "/nowhere/f.json", NULL};
	char *text = malloc((1 << 20) + 1);
	struct config config;

	(void)state;
	assert_int_equal(config_parse(3, arguments, NO_ENVIRONMENT, &config, config_error,
	                              sizeof(config_error)),
	                 -EINVAL);
	assert_string_equal(config_error,
	                    "/nowhere/f.json: cannot read it: No such file or directory");
	arguments[2] = "/";
	assert_int_equal(config_parse(3, arguments, NO_ENVIRONMENT, &config, config_error,
	                              sizeof(config_error)),
	                 -EINVAL);
	assert_string_equal(config_error, "/: cannot read it: Is a directory");
	assert_non_null(text);
	memset(text, ' ', (1 << 20) + 1);
	config_refuse_bytes(text, (1 << 20) + 1, ": a configuration has at most 1048576 bytes");
	config_refuse_bytes(text, 1 << 20, ":1:1048577: '[' or '{' expected near end of file");
	free(text);
}

static void finds_values_and_keys_again(void **state)
{
	static const char text[] = " {\"a\": [1, {\"b\": {}, \"c\\\"]\" :\n\"}\"}], \"d\" : 5}";
	struct json_way a = {NULL, 0}, d = {NULL, 1}, one = {&a, 0}, object = {&a, 1};
	struct json_way b = {&object, 0}, c = {&object, 1};
	const struct {
		struct json_place is;
		unsigned line, column;
	} cases[] = {
		{json_place_of_value(text, NULL), 1, 2},
		{json_place_of_key(text, &a), 1, 3},
		{json_place_of_value(text, &a), 1, 8},
		{json_place_of_value(text, &one), 1, 9},
		{json_place_of_value(text, &object), 1, 12},
		{json_place_of_key(text, &b), 1, 13},
		{json_place_of_value(text, &b), 1, 18},
		{json_place_of_key(text, &c), 1, 22},
		{json_place_of_value(text, &c), 2, 1},
		{json_place_of_key(text, &d), 2, 8},
		{json_place_of_value(text, &d), 2, 14},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cases[i].is.line, cases[i].line);
		assert_int_equal(cases[i].is.column, cases[i].column);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_settings_under_the_names_of_their_flags),
		cmocka_unit_test(prefers_flag_to_environment_to_file_to_default),
		cmocka_unit_test(takes_a_file_that_the_environment_names),
		cmocka_unit_test(reads_the_file_again),
		cmocka_unit_test(says_where_the_text_is_not_json),
		cmocka_unit_test(says_where_a_key_is_wrong),
		cmocka_unit_test(says_where_a_value_is_wrong),
		cmocka_unit_test(wants_all_of_the_file_to_be_right),
		cmocka_unit_test(says_why_a_file_cannot_be_read),
		cmocka_unit_test(finds_values_and_keys_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
