#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "handlers/batch_summary.h"
#include "tests/unit/handler_fixture.h"
#include "tests/with_cmocka.h"

/* What /fanout makes of its parameters and limits. */

static void note_url(void *arg, const struct http_call *call, unsigned index,
                     struct scripted_reply *reply)
{
	int length = snprintf(arg, 100, "%s", call->url);

	(void)index;
	(void)reply;
	assert(length > 0 && length < 100);
}

/* The client is there afterwards. */
static struct fanout_options options_of_good_calls(void)
{
	script_by(&(struct scripted_options){0});
	return plain_options();
}

static void expect_url(const char *upstream, const char *query, const char *url)
{
	struct fanout_options options;
	char seen[100] = "";

	script_by(&(struct scripted_options){.adjust = note_url, .arg = seen});
	options = plain_options();
	options.upstream = upstream;
	handle_with(options);
	run_on("pool", 1, 100);
	get(query);
	assert_string_equal(seen, url);
	tear_down(NULL);
}

static void the_delay_is_added_to_the_upstream(void **state)
{
	(void)state;
	expect_url("http://h:1/slow", "n=1", "http://h:1/slow?ms=1000");
	expect_url("http://h:1/slow", "n=1&delay_ms=0", "http://h:1/slow?ms=0");
	expect_url("http://h:1/slow?a=b", "n=1&delay_ms=007", "http://h:1/slow?a=b&ms=7");
	expect_url("http://h:1/slow?", "n=1", "http://h:1/slow?ms=1000");
	expect_url("http://h:1/slow?a&", "n=1", "http://h:1/slow?a&ms=1000");
}

static void bad_parameters_are_named(void **state)
{
	static const struct {
		const char *query, *parameter, *detail;
	} bad[] = {
		{"", "n", "n is missing"},
		{"n=", "n", "n is empty"},
		{"n=1&n=2", "n", "n is given twice"},
		{"n=1&m=2", "m", "m is not a parameter of this path"},
		{"n=0", "n", "n must be a whole number from 1 to 100000"},
		{"n=100001", "n", "n must be a whole number from 1 to 100000"},
		{"n=1e3", "n", "n must be a whole number from 1 to 100000"},
		{"n=1&delay_ms=600001", "delay_ms",
	         "delay_ms must be a whole number from 0 to 600000"},
		{"n=1&timeout_ms=0", "timeout_ms",
	         "timeout_ms must be a whole number from 1 to 10000"},
		{"n=1&timeout_ms=10001", "timeout_ms",
	         "timeout_ms must be a whole number from 1 to 10000"},
		{"n=1&deadline_ms=20001", "deadline_ms",
	         "deadline_ms must be a whole number from 1 to 20000"},
		{"n=1&max_parallel=100001", "max_parallel",
	         "max_parallel must be a whole number from 0 to 100000"},
		{"n=1&detail=2", "detail", "detail must be a whole number from 0 to 1"},
		{"n=1&executor=pool", "executor", "executor needs --compare"},
		{"n=1&cpu_us=0", "cpu_us", "cpu_us needs --experiments"},
		{"n=1&%zz=1", "%zz", "the name %zz has a bad percent-escape"},
		{"n=1&=1", NULL, "a value in the query has no name"},
	};

	(void)state;
	set_up(NULL, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		get(bad[i].query);
		expect_problem(400, bad[i].parameter, bad[i].detail);
		forget_answer();
	}
}

static void the_options_admit_executor_and_cpu_us(void **state)
{
	static const char *const names[] = {"pool", "thread", NULL};
	struct fanout_options options = options_of_good_calls();

	(void)state;
	options.limits.executors = names;
	options.experiments = true;
	handle_with(options);
	run_on("pool", 2, 100);
	get("n=2&executor=pool&cpu_us=2000&max_parallel=1");
	expect_member("ok", "2");
	/* Burnt after the call, so not a part of it; one after the other. */
	assert_true(json_real_value(member("elapsed_ms")) >= 4.0);
	forget_answer();
	get("n=2&executor=coroutine");
	expect_problem(400, "executor", "executor must be pool or thread");
}

static int64_t process_cpu_ms(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One thread: the parent runs the child itself, and nobody is there to cancel it. */
static void burning_ends_at_the_deadline(void **state)
{
	struct fanout_options options = options_of_good_calls();
	int64_t before_ms = process_cpu_ms();

	(void)state;
	options.experiments = true;
	handle_with(options);
	run_on("pool", 1, 100);
	get("n=1&cpu_us=1000000&deadline_ms=20");
	assert_true(process_cpu_ms() - before_ms < 900);
}

static void what_does_not_fit_in_memory_is_refused(void **state)
{
	struct fanout_options options = options_of_good_calls();

	(void)state;
	options.limits.max_memory_bytes = 100000;
	handle_with(options);
	run_on("pool", POOL_THREADS, 1000);
	get("n=1000");
	expect_problem(503, NULL,
	               "the calls need more than the 100000 bytes of "
	               "max-request-bytes-in-memory");
	expect_header("Retry-After", "1");
}

static void an_answer_that_does_not_fit_in_memory_is_refused(void **state)
{
	struct fanout_options options = options_of_good_calls();
	char detail[100];
	int length;

	(void)state;
	options.limits.max_memory_bytes = batch_bytes(1000) + batch_summary_bytes(1000) + 20000;
	handle_with(options);
	run_on("pool", POOL_THREADS, 1001);
	get("n=1000&detail=1");
	length = snprintf(detail, sizeof(detail),
	                  "the answer needs more than the %zu bytes of max-request-bytes-in-memory",
	                  options.limits.max_memory_bytes);
	assert_in_range(length, 1, sizeof(detail) - 1);
	expect_problem(503, NULL, detail);
	expect_header("Retry-After", "1");
	forget_answer();
	get("n=1000");
	expect_member("ok", "1000");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_delay_is_added_to_the_upstream),
		TEST(bad_parameters_are_named),
		TEST(the_options_admit_executor_and_cpu_us),
		TEST(burning_ends_at_the_deadline),
		TEST(what_does_not_fit_in_memory_is_refused),
		TEST(an_answer_that_does_not_fit_in_memory_is_refused),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
