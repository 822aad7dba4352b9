#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "handlers/cpu.h"
#include "handlers/pinned.h"
#include "handlers/sleep.h"
#include "tests/unit/handler_fixture.h"
#include "tests/with_cmocka.h"

/* GET /sleep, /cpu and /pinned, and how their answers differ from that of /fanout. */

static void set_up_sleep(const char *kind, unsigned threads)
{
	struct batch_limits limits = plain_limits();

	assert_int_equal(sleep_handler_create(&limits, &handler), 0);
	run_on(kind, threads, 200000);
}

static void set_up_cpu(const char *kind, unsigned threads)
{
	struct batch_limits limits = plain_limits();

	assert_int_equal(cpu_handler_create(&limits, &handler), 0);
	run_on(kind, threads, 200000);
}

/* Both clients of the handler are the one scripted client. */
static void set_up_pinned(const struct scripted_options *script, unsigned threads)
{
	script_by(script);
	struct pinned_options options = {
		.limits = plain_limits(),
		.client = client,
		.blocking_client = client,
		.upstream = "http://127.0.0.1:1/slow?a=b",
		.call_timeout_ms = CALL_TIMEOUT_MS,
		.max_reply_bytes = 1000,
	};

	assert_int_equal(pinned_handler_create(&options, &handler), 0);
	run_on("pool", threads, 200000);
}

static void expect_members(const char *const *names)
{
	const json_t *value;
	const char *name;

	json_object_foreach(body, name, value)
	{
		assert_non_null(*names);
		assert_string_equal(name, *names++);
	}
	assert_null(*names);
}

static void an_answer_without_calls_names_no_client_and_no_status(void **state)
{
	static const char *const names[] = {"executor",       "n",       "ok",     "failed",
	                                    "elapsed_ms",     "call_ms", "errors", "coverage",
	                                    "peak_in_flight", NULL};

	(void)state;
	set_up_sleep("coroutine", 1);
	get("n=10&ms=1");
	assert_int_equal(response.status, 200);
	expect_members(names);
	expect_member("executor", "\"coroutine\"");
	expect_member("ok", "10");
}

static void sleepers_sleep_at_once_and_long_enough(void **state)
{
	(void)state;
	set_up_sleep("coroutine", 1);
	get("n=200&ms=300");
	expect_member("ok", "200");
	expect_member("peak_in_flight", "200");
	assert_true(json_real_value(json_object_get(member("call_ms"), "min")) >= 300.0);
	assert_true(json_real_value(member("elapsed_ms")) < 200 * 300);
}

static void a_pool_sleeps_in_as_many_as_it_has_threads(void **state)
{
	(void)state;
	set_up_sleep("pool", 4);
	get("n=8&ms=100");
	expect_member("ok", "8");
	expect_member("peak_in_flight", "4"); /* twice four, the parent's thread among them */
	assert_true(json_real_value(member("elapsed_ms")) >= 200.0);
}

static void sleep_without_ms_is_100_ms(void **state)
{
	(void)state;
	set_up_sleep("coroutine", 1);
	get("n=1");
	assert_true(json_real_value(member("elapsed_ms")) >= 100.0);
}

static void sleepers_end_at_the_deadline(void **state)
{
	(void)state;
	set_up_sleep("coroutine", 1);
	get("n=5&ms=600000&deadline_ms=20");
	expect_member("ok", "0");
	expect_member("errors", "{\"timeout\":5}");
	expect_member("call_ms", "null");
	forget_answer();
	/* Not cancelled: the parent's own thread. */
	executor_destroy(executor);
	run_on("pool", 1, 100);
	get("n=1&ms=600000&deadline_ms=20");
	expect_member("errors", "{\"timeout\":1}");
}

static int64_t process_cpu_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void every_number_is_added(void **state)
{
	int64_t before_ns, small_ns, large_ns;

	(void)state;
	set_up_cpu("pool", 1);
	before_ns = process_cpu_ns();
	get("n=1&iterations=100000");
	small_ns = process_cpu_ns() - before_ns;
	forget_answer();
	before_ns = process_cpu_ns();
	get("n=20&iterations=5000000");
	large_ns = process_cpu_ns() - before_ns;
	expect_member("ok", "20");
	/* No CPU adds 100 million numbers, one depending on the other, in less. */
	assert_true(large_ns > 10000000 && large_ns > small_ns);
}

static void a_sum_ends_at_the_deadline(void **state)
{
	int64_t before_ns = process_cpu_ns();

	(void)state;
	set_up_cpu("coroutine", 1);
	get("n=2&iterations=100000000000&deadline_ms=20");
	expect_member("errors", "{\"timeout\":2}");
	assert_true(process_cpu_ns() - before_ns < INT64_C(5000000000));
}

static void the_ends_of_the_range_of_iterations(void **state)
{
	(void)state;
	set_up_cpu("pool", 2);
	get("n=3&iterations=1");
	expect_member("ok", "3");
	forget_answer();
	get("n=1&iterations=65537");
	expect_member("ok", "1");
	forget_answer();
	get("n=1&iterations=0");
	expect_problem(400, "iterations",
	               "iterations must be a whole number from 1 to 100000000000");
}

static void note_url(void *arg, const struct http_call *call, unsigned index,
                     struct scripted_reply *reply)
{
	(void)index;
	(void)reply;
	/* Relaxed: read once the request has been answered. */
	if (strcmp(call->url, "http://127.0.0.1:1/slow?a=b&ms=200") == 0)
		atomic_fetch_add_explicit((atomic_uint *)arg, 1, memory_order_relaxed);
}

static void pinned_calls_the_upstream_with_200_ms(void **state)
{
	atomic_uint as_expected = 0;

	(void)state;
	set_up_pinned(&(struct scripted_options){.adjust = note_url, .arg = &as_expected}, 2);
	get("n=2");
	assert_int_equal(as_expected, 2);
	expect_member("client", "\"scripted\"");
	expect_member("statuses", "{\"200\":2}");
}

static void locks_keep_only_same_places_apart(void **state)
{
	struct scripted_stats stats;

	(void)state;
	set_up_pinned(
		&(struct scripted_options){
			.replies = (struct scripted_reply[]){{.delay_ns = 100000000}},
			.reply_count = 1},
		POOL_THREADS);
	get("n=16&lock=1");
	expect_member("ok", "16");
	scripted_client_stats(client, &stats);
	assert_int_equal(stats.peak_in_flight, POOL_THREADS);
}

/* Children 0 and 4096 share a mutex, and a call under it never ends by itself. */
static void who_does_not_get_the_lock_in_time_has_failed(void **state)
{
	struct scripted_stats stats;

	(void)state;
	set_up_pinned(
		&(struct scripted_options){
			.replies = (struct scripted_reply[]){{.delay_ns = INT64_MAX}},
			.reply_count = 1},
		1);
	executor_destroy(executor);
	run_on("coroutine", 1, 10000);
	get("n=4097&lock=1&deadline_ms=300");
	expect_member("errors", "{\"timeout\":4097}");
	/* The first and the last child share a lock. Whether the last one gets it when the first
	 * one gives up, at the same deadline, is open; that they never call at once is not. */
	scripted_client_stats(client, &stats);
	assert_in_range(stats.peak_in_flight, 1, 4096);
}

static void bad_parameters_are_refused(void **state)
{
	(void)state;
	set_up_pinned(&(struct scripted_options){0}, 1);
	get("n=1&lock=2");
	expect_problem(400, "lock", "lock must be a whole number from 0 to 1");
	forget_answer();
	get("delay_ms=1");
	expect_problem(400, "n", "n is missing");
	forget_answer();
	get("n=1&executor=pool");
	expect_problem(400, "executor", "executor needs --compare");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_answer_without_calls_names_no_client_and_no_status),
		TEST(sleepers_sleep_at_once_and_long_enough),
		TEST(a_pool_sleeps_in_as_many_as_it_has_threads),
		TEST(sleep_without_ms_is_100_ms),
		TEST(sleepers_end_at_the_deadline),
		TEST(every_number_is_added),
		TEST(a_sum_ends_at_the_deadline),
		TEST(the_ends_of_the_range_of_iterations),
		TEST(pinned_calls_the_upstream_with_200_ms),
		TEST(locks_keep_only_same_places_apart),
		TEST(who_does_not_get_the_lock_in_time_has_failed),
		TEST(bad_parameters_are_refused),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
