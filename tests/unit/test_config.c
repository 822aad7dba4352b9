#include "server/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/config_settings.h"
#include "tests/with_cmocka.h"

#define ARGUMENTS(...) ((char *[]){"fanoutd", __VA_ARGS__, NULL}) /* NULL: none */
#define ENVIRONMENT ARGUMENTS /* its first entry is like one without "=" */

static char error[256];

static int parse(char **arguments, char **environment, struct config *config)
{
	int count = 0;

	while (arguments[count])
		count++;
	error[0] = '\0';
	return config_parse(count, arguments, environment, config, error, sizeof(error));
}

static void take(char **arguments, char **environment, struct config *config)
{
	int result = parse(arguments, environment, config);

	assert_string_equal(error, "");
	assert_int_equal(result, 0);
}

/* Refused, with one line that starts with @start. */
static void refuse(char **arguments, char **environment, const char *start)
{
	struct config config = {.max_n = 77};

	assert_int_equal(parse(arguments, environment, &config), -EINVAL);
	if (strncmp(error, start, strlen(start)) != 0)
		assert_string_equal(error, start);
	assert_null(strchr(error, '\n'));
	assert_int_equal(config.max_n, 77);
}

static void has_the_documented_defaults(void **state)
{
	struct config config;

	(void)state;
	take(ARGUMENTS(NULL), ENVIRONMENT(NULL), &config);
	assert_int_equal(config.command, CONFIG_SERVE);
	assert_string_equal(config.listen.host, "127.0.0.1");
	assert_int_equal(config.listen.port, 8080);
	assert_string_equal(config.slow_listen.host, "127.0.0.1");
	assert_int_equal(config.slow_listen.port, 8081);
	assert_string_equal(config.admin_listen.host, "");
	assert_int_equal(config.slow_backlog, 4096);
	assert_string_equal(config.executor, "coroutine");
	assert_false(config.compare);
	assert_null(config.upstream_ca);
	assert_false(config.upstream_insecure);
	assert_false(config.upstream_http2);
	assert_int_equal(config.carriers, 0);
	assert_int_equal(config.pool_threads, 200);
	assert_int_equal(config.queue, 10000);
	assert_int_equal(config.when_full, WHEN_FULL_REJECT);
	assert_int_equal(config.max_threads, 4096);
	assert_int_equal(config.max_tasks, 200000);
	assert_int_equal(config.stack_bytes, 65536);
	assert_int_equal(config.stack_guard, STACK_GUARD_AUTO);
	assert_null(config.upstream);
	assert_string_equal(config.client, "auto");
	assert_int_equal(config.call_timeout_ms, 10000);
	assert_int_equal(config.connect_timeout_ms, 3000);
	assert_int_equal(config.deadline_ms, 30000);
	assert_int_equal(config.max_n, 100000);
	assert_int_equal(config.max_body_bytes, 1 << 20);
	assert_null(config.auth_token_file);
	assert_int_equal(config.max_reply_bytes, 1 << 20);
	assert_int_equal(config.max_request_bytes_in_memory, 64 << 20);
	assert_int_equal(config.half_close, CONFIG_HALF_CLOSE_GONE);
	assert_int_equal(config.drain_delay_ms, 0);
	assert_int_equal(config.drain_ms, 30000);
	assert_false(config.experiments);
	assert_string_equal(config.warning, "");
}

static void takes_a_value_apart_or_after_an_equals_sign(void **state)
{
	struct config config;

	(void)state;
	take(ARGUMENTS("--queue", "5", "--max-n=7", "--when-full=caller-runs", "--half-close",
	               "keep", "--executor", "pool", "--compare", "--client=curl",
	               "--max-request-bytes-in-memory", "1099511627776", "--stack-guard", "canary"),
	     ENVIRONMENT(NULL), &config);
	assert_int_equal(config.queue, 5);
	assert_int_equal(config.max_n, 7);
	assert_int_equal(config.when_full, WHEN_FULL_CALLER_RUNS);
	assert_int_equal(config.half_close, CONFIG_HALF_CLOSE_KEEP);
	assert_int_equal(config.stack_guard, STACK_GUARD_CANARY);
	assert_string_equal(config.executor, "pool");
	assert_true(config.compare);
	assert_string_equal(config.client, "curl");
	assert_true(config.max_request_bytes_in_memory == UINT64_C(1) << 40);
}

static void prefers_flag_to_environment_to_default(void **state)
{
	struct config config;

	(void)state;
	take(ARGUMENTS("--queue", "1"),
	     ENVIRONMENT("HOME=/", "FANOUTD_QUEUE=2", "FANOUTD_POOL_THREADS=3"), &config);
	assert_int_equal(config.queue, 1);
	assert_int_equal(config.pool_threads, 3);
	assert_int_equal(config.max_threads, 4096);
	/* A variable that a flag overrides is not even looked at. */
	take(ARGUMENTS("--queue", "1"), ENVIRONMENT("FANOUTD_QUEUE=x"), &config);
	assert_int_equal(config.queue, 1);
}

static void takes_the_last_of_a_flag_given_twice(void **state)
{
	struct config config;

	(void)state;
	take(ARGUMENTS("--carriers=4", "--carriers=auto", "--queue=1", "--queue=2"),
	     ENVIRONMENT("FANOUTD_CARRIERS=3"), &config);
	assert_int_equal(config.carriers, 0);
	assert_int_equal(config.queue, 2);
}

static void reads_switches(void **state)
{
	static const char *const on[] = {"1", "true", "on"}, *const off[] = {"0", "false", "off"};
	struct config config;
	char variable[64];

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(snprintf(variable, sizeof(variable), "FANOUTD_COMPARE=%s", on[i]) > 0);
		take(ARGUMENTS(NULL), ENVIRONMENT(variable), &config);
		assert_true(config.compare);
		take(ARGUMENTS("--compare=off"), ENVIRONMENT(variable), &config);
		assert_false(config.compare);
		assert_true(snprintf(variable, sizeof(variable), "FANOUTD_COMPARE=%s", off[i]) > 0);
		take(ARGUMENTS(NULL), ENVIRONMENT(variable), &config);
		assert_false(config.compare);
		take(ARGUMENTS("--compare"), ENVIRONMENT(variable), &config);
		assert_true(config.compare);
	}
	refuse(ARGUMENTS(NULL), ENVIRONMENT("FANOUTD_COMPARE=yes"),
	       "FANOUTD_COMPARE: 'yes' is not one of on, off, true, false, 1, 0");
	refuse(ARGUMENTS("--compare", "off"), ENVIRONMENT(NULL), "off: unexpected argument");
}

static void refuses_every_other_way_to_write_a_number(void **state)
{
	static char *const bad[] = {
		"",
		"0",
		"-1",
		"+5",
		"1e3",
		"0x10",
		"5 ",
		" 5",
		"5\n",
		"5.0",
		"1_000",
		"auto",
		"10000001",
		"18446744073709551616",
		"99999999999999999999999999",
		"4294967297",
	};
	char variable[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		refuse(ARGUMENTS("--queue", bad[i]), ENVIRONMENT(NULL), "--queue: '");
		assert_non_null(strstr(error, "' is not a number from 1 to 10000000"));
		assert_true(snprintf(variable, sizeof(variable), "FANOUTD_QUEUE=%s", bad[i]) > 0);
		refuse(ARGUMENTS(NULL), ENVIRONMENT(variable), "FANOUTD_QUEUE: '");
	}
	refuse(ARGUMENTS("--max-reply-bytes=1073741825"), ENVIRONMENT(NULL),
	       "--max-reply-bytes: '1073741825' is not a number from 1 to 1073741824");
	refuse(ARGUMENTS("--carriers=some"), ENVIRONMENT(NULL),
	       "--carriers: 'some' is not a number from 0 to 256, nor auto");
}

/* Both ends of the range of every number are taken, and nothing beyond them. */
static void holds_every_number_to_its_range(void **state)
{
	unsigned numbers = 0;

	(void)state;
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		char flag[128], command[] = "--show-cpus";
		char *rest = setting->only_with == CONFIG_SHOW_CPUS ? command : NULL;
		struct config config;

		if (setting->maximum == 0)
			continue;
		numbers++;
		assert_true(snprintf(flag, sizeof(flag), "--%s=%ju", setting->name,
		                     setting->minimum) > 0);
		take(ARGUMENTS(flag, rest), ENVIRONMENT(NULL), &config);
		assert_true(snprintf(flag, sizeof(flag), "--%s=%ju", setting->name,
		                     setting->maximum) > 0);
		take(ARGUMENTS(flag, rest), ENVIRONMENT(NULL), &config);
		assert_true(snprintf(flag, sizeof(flag), "--%s=%ju", setting->name,
		                     setting->maximum + 1) > 0);
		refuse(ARGUMENTS(flag, rest), ENVIRONMENT(NULL), "--");
		if (setting->minimum == 0)
			continue;
		assert_true(snprintf(flag, sizeof(flag), "--%s=%ju", setting->name,
		                     setting->minimum - 1) > 0);
		refuse(ARGUMENTS(flag, rest), ENVIRONMENT(NULL), "--");
	}
	assert_true(numbers > 10);
}

static void refuses_words_that_are_no_choice(void **state)
{
	(void)state;
	refuse(ARGUMENTS("--executor", "bogus"), ENVIRONMENT(NULL),
	       "--executor: 'bogus' is not one of coroutine, pool, thread");
	refuse(ARGUMENTS("--executor="), ENVIRONMENT(NULL), "--executor: '' is not one of");
	refuse(ARGUMENTS("--when-full=Reject"), ENVIRONMENT(NULL),
	       "--when-full: 'Reject' is not one of reject, caller-runs, wait");
	refuse(ARGUMENTS("--client=http2"), ENVIRONMENT(NULL),
	       "--client: 'http2' is not one of auto, http1, curl");
	refuse(ARGUMENTS("--executor=a\nb"), ENVIRONMENT(NULL), "--executor: 'a?b' is not one of");
}

static void parses_addresses(void **state)
{
	static char *const bad[] = {"",     "8080",    ":8080",    "localhost", "a:",    "a:65536",
	                            "a:-1", "a:8080x", "::1:8080", "[::1]8080", "[::1]", "a:+1"};
	struct config config;

	(void)state;
	take(ARGUMENTS("--listen=[::1]:8080", "--slow-listen=localhost:0",
	               "--admin-listen=0.0.0.0:65535"),
	     ENVIRONMENT(NULL), &config);
	assert_string_equal(config.listen.host, "::1");
	assert_int_equal(config.listen.port, 8080);
	assert_string_equal(config.slow_listen.host, "localhost");
	assert_int_equal(config.slow_listen.port, 0);
	assert_string_equal(config.admin_listen.host, "0.0.0.0");
	assert_int_equal(config.admin_listen.port, 65535);
	take(ARGUMENTS("--slow-listen=off", "--upstream=http://a/", "--admin-listen="),
	     ENVIRONMENT("FANOUTD_ADMIN_LISTEN=a:1"), &config);
	assert_string_equal(config.slow_listen.host, "");
	assert_string_equal(config.admin_listen.host, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(ARGUMENTS("--listen", bad[i]), ENVIRONMENT(NULL), "--listen: '");
	refuse(ARGUMENTS("--listen", "off"), ENVIRONMENT(NULL), "--listen: 'off' is not HOST:PORT");
}

static void parses_upstreams(void **state)
{
	static char *const good[] = {
		"http://a",           "https://a.example/",   "http://127.0.0.1:8081/slow",
		"HTTP://a:1/b?c=d&e", "http://[::1]:80/x",    "http://[::1]",
		"http://a?x=/@:",     "http://a/%20b;c=@d:e", "https://a_b-c.d:65535",
	};
	static char *const bad[] = {
		"",
		"a",
		"ftp://a/",
		"http:/a",
		"http://",
		"http:///x",
		"http://:80/",
		"http://a:0/",
		"http://a:/",
		"http://a:65536/",
		"http://a:x",
		"http://u@a/",
		"http://u:p@a/",
		"http://a/#f",
		"http://a#",
		"http://a b",
		"http://a/ ",
		"http://a/\x01",
		"http://[::1",
		"http://[x]/",
		"http://a[/",
		"http://::1/x",
		"http://a/\xc3\xa9",
		"//a/",
		"http://[::1]x",
	};
	struct config config;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		take(ARGUMENTS("--upstream", good[i]), ENVIRONMENT(NULL), &config);
		assert_string_equal(config.upstream, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(ARGUMENTS("--upstream", bad[i]), ENVIRONMENT(NULL), "--upstream: '");
	refuse(ARGUMENTS("--upstream=ftp://a"), ENVIRONMENT(NULL),
	       "--upstream: 'ftp://a' is not a URL to call: it does not start with http:// or "
	       "https://");
	refuse(ARGUMENTS("--slow-listen=off"), ENVIRONMENT(NULL), "--upstream: must be given when");
}

static void refuses_flags_it_does_not_know(void **state)
{
	(void)state;
	refuse(ARGUMENTS("--bogus"), ENVIRONMENT(NULL), "--bogus: unknown flag");
	refuse(ARGUMENTS("--bogus=1"), ENVIRONMENT(NULL), "--bogus=1: unknown flag");
	refuse(ARGUMENTS("--"), ENVIRONMENT(NULL), "--: unknown flag");
	refuse(ARGUMENTS("--queu", "1"), ENVIRONMENT(NULL), "--queu: unknown flag");
	refuse(ARGUMENTS("-h"), ENVIRONMENT(NULL), "-h: unexpected argument");
	refuse(ARGUMENTS("serve"), ENVIRONMENT(NULL), "serve: unexpected argument");
	refuse(ARGUMENTS(""), ENVIRONMENT(NULL), ": unexpected argument");
}

static void refuses_a_flag_without_its_value(void **state)
{
	(void)state;
	refuse(ARGUMENTS("--queue"), ENVIRONMENT(NULL), "--queue: a value is missing");
	refuse(ARGUMENTS("--upstream", "--compare"), ENVIRONMENT(NULL),
	       "--upstream: a value is missing");
}

static void warns_once_of_variables_it_does_not_know(void **state)
{
	struct config config;

	(void)state;
	take(ARGUMENTS(NULL), ENVIRONMENT("FANOUTD_PORT=tcp://10.0.0.1:80", "FANOUT=1"), &config);
	assert_string_equal(config.warning,
	                    "FANOUTD_PORT in the environment is no setting: ignored");
	take(ARGUMENTS(NULL), ENVIRONMENT("FANOUTD_PORT=1", "FANOUTD_ROOT=/", "FANOUTD_queue=1"),
	     &config);
	assert_string_equal(config.warning,
	                    "FANOUTD_PORT and 2 more in the environment are no settings: ignored");
	take(ARGUMENTS(NULL),
	     ENVIRONMENT("FANOUTD_0123456789012345678901234567890123456789012345678901234567890"
	                 "=1"),
	     &config);
	assert_non_null(strstr(config.warning, "... in the environment"));
}

static void knows_its_commands(void **state)
{
	struct config config;

	(void)state;
	take(ARGUMENTS("--check-config"), ENVIRONMENT(NULL), &config);
	assert_int_equal(config.command, CONFIG_CHECK);
	take(ARGUMENTS("--show-cpus", "--root", "/x", "--affinity=8"), ENVIRONMENT(NULL), &config);
	assert_int_equal(config.command, CONFIG_SHOW_CPUS);
	assert_string_equal(config.root, "/x");
	assert_int_equal(config.affinity_cpus, 8);
	take(ARGUMENTS("--show-cpus"), ENVIRONMENT(NULL), &config);
	assert_string_equal(config.root, "");
	assert_int_equal(config.affinity_cpus, 0);
	take(ARGUMENTS("--healthcheck", "--listen", "0.0.0.0:1"), ENVIRONMENT(NULL), &config);
	assert_int_equal(config.command, CONFIG_HEALTHCHECK);
	assert_null(config.healthcheck_url);
	assert_int_equal(config.listen.port, 1);
	take(ARGUMENTS("--healthcheck", "http://x/"), ENVIRONMENT("FANOUTD_LISTEN=[::]:2"),
	     &config);
	assert_string_equal(config.healthcheck_url, "http://x/");
	/* Help is to be had whatever the environment holds. */
	take(ARGUMENTS("--help"), ENVIRONMENT("FANOUTD_QUEUE=x"), &config);
	assert_int_equal(config.command, CONFIG_HELP);
	refuse(ARGUMENTS("--check-config"), ENVIRONMENT("FANOUTD_QUEUE=x"), "FANOUTD_QUEUE: 'x'");
	refuse(ARGUMENTS("--version=1"), ENVIRONMENT(NULL), "--version: takes no value");
	refuse(ARGUMENTS("--healthcheck", "x"), ENVIRONMENT(NULL), "--healthcheck: ");
	refuse(ARGUMENTS("--version", "--help"), ENVIRONMENT(NULL), "--help: only one command");
	refuse(ARGUMENTS("--root=/x"), ENVIRONMENT(NULL), "--root: goes with --show-cpus only");
	refuse(ARGUMENTS("--show-cpus", "--affinity=0"), ENVIRONMENT(NULL), "--affinity: '0'");
}

static void cuts_an_error_to_the_space_there_is(void **state)
{
	struct config config;
	char small[8];

	(void)state;
	assert_int_equal(config_parse(2, ARGUMENTS("--queue=x"), ENVIRONMENT(NULL), &config, small,
	                              sizeof(small)),
	                 -EINVAL);
	assert_string_equal(small, "--queue");
}

static void prints_each_value_and_where_it_is_from(void **state)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct config config;

	(void)state;
	assert_non_null(out);
	take(ARGUMENTS("--print-config", "--queue=9", "--compare"),
	     ENVIRONMENT("FANOUTD_LISTEN=[::]:1"), &config);
	assert_int_equal(config.command, CONFIG_PRINT);
	assert_int_equal(config_print(&config, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_ptr_equal(strstr(text, "listen = [::]:1 (environment)\n"), text);
	assert_non_null(strstr(text, "\nqueue = 9 (flag)\n"));
	assert_non_null(strstr(text, "\ncompare = on (flag)\n"));
	assert_non_null(strstr(text, "\nexperiments = off (default)\n"));
	assert_non_null(strstr(text, "\nupstream = the built-in slow endpoint (default)\n"));
	assert_non_null(strstr(text, "\nadmin-listen = the main listener (default)\n"));
	assert_null(strstr(text, "root"));
	free(text);
}

static void helps_with_every_flag(void **state)
{
	char *text = NULL, flag[64];
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(out);
	assert_int_equal(config_print_help(out), 0);
	assert_int_equal(fclose(out), 0);
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		assert_true(snprintf(flag, sizeof(flag), "\n  --%s ", setting->name) > 0);
		assert_non_null(strstr(text, flag));
	}
	for (const struct config_command_flag *command = config_commands; command->name;
	     command++) {
		assert_true(snprintf(flag, sizeof(flag), "\n  --%s ", command->name) > 0);
		assert_non_null(strstr(text, flag));
	}
	assert_non_null(strstr(text, "coroutine, pool, thread (default: coroutine)\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_documented_defaults),
		cmocka_unit_test(takes_a_value_apart_or_after_an_equals_sign),
		cmocka_unit_test(prefers_flag_to_environment_to_default),
		cmocka_unit_test(takes_the_last_of_a_flag_given_twice),
		cmocka_unit_test(reads_switches),
		cmocka_unit_test(refuses_every_other_way_to_write_a_number),
		cmocka_unit_test(holds_every_number_to_its_range),
		cmocka_unit_test(refuses_words_that_are_no_choice),
		cmocka_unit_test(parses_addresses),
		cmocka_unit_test(parses_upstreams),
		cmocka_unit_test(refuses_flags_it_does_not_know),
		cmocka_unit_test(refuses_a_flag_without_its_value),
		cmocka_unit_test(warns_once_of_variables_it_does_not_know),
		cmocka_unit_test(knows_its_commands),
		cmocka_unit_test(cuts_an_error_to_the_space_there_is),
		cmocka_unit_test(prints_each_value_and_where_it_is_from),
		cmocka_unit_test(helps_with_every_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
