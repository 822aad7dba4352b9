#include <stdio.h>

#include "tests/unit/handler_fixture.h"
#include "tests/with_cmocka.h"

/* What becomes of the calls of a /fanout, and how its answer tells. */

static void all_calls_succeed(void **state)
{
	static const char *const names[] = {
		"executor", "client",   "n",      "ok",       "failed",        "elapsed_ms",
		"call_ms",  "statuses", "errors", "coverage", "peak_in_flight"};
	static const char *const times[] = {"min", "p50", "p90", "p99", "max"};
	const json_t *value;
	const char *name;
	double before = 0;
	size_t at = 0;

	(void)state;
	set_up((struct scripted_reply[]){{.bytes = 2, .delay_ns = 1000000}}, 1);
	get("n=20");
	assert_int_equal(response.status, 200);
	assert_string_equal(response.content_type, "application/json");
	assert_null(response.headers);
	json_object_foreach(body, name, value) assert_string_equal(name, names[at++]);
	assert_int_equal(at, 11);
	expect_member("executor", "\"pool\"");
	expect_member("client", "\"scripted\"");
	expect_member("n", "20");
	expect_member("ok", "20");
	expect_member("failed", "0");
	assert_true(json_is_real(member("elapsed_ms")));
	assert_true(json_real_value(member("elapsed_ms")) >= 3); /* 8 at once, 1 ms each */
	at = 0;
	json_object_foreach((json_t *)member("call_ms"), name, value)
	{
		assert_string_equal(name, times[at++]);
		assert_true(json_is_real(value) && json_real_value(value) >= before);
		before = json_real_value(value);
	}
	assert_int_equal(at, 5);
	assert_true(json_real_value(json_object_get(member("call_ms"), "min")) >= 1.0);
	expect_member("statuses", "{\"200\":20}");
	expect_member("errors", "{}");
	expect_member("coverage",
	              "{\"requested\":20,\"succeeded\":20,\"percent\":100.0,\"degraded\":{}}");
	assert_in_range(json_integer_value(member("peak_in_flight")), 1, POOL_THREADS);
}

static void a_mix_is_counted_by_status_and_by_error(void **state)
{
	static const struct scripted_reply replies[] = {
		{.status = 503},           {.failure = HTTP_RESET}, {.status = 200},
		{.failure = HTTP_CONNECT}, {.status = 204},         {.status = 404},
		{.bytes = 1001}, /* over max_reply_bytes */
	};

	(void)state;
	set_up(replies, 7);
	get("n=21");
	assert_int_equal(response.status, 200);
	expect_member("ok", "6");
	expect_member("failed", "15");
	expect_member("statuses", "{\"200\":3,\"204\":3,\"404\":3,\"503\":3}");
	expect_member("errors", "{\"connect\":3,\"reset\":3,\"too_large\":3}");
	expect_member("coverage", "{\"requested\":21,\"succeeded\":6,\"percent\":28.6,"
	                          "\"degraded\":{\"connect\":3,\"reset\":3,\"too_large\":3}}");
}

static void without_a_whole_reply_call_ms_is_null(void **state)
{
	(void)state;
	set_up((struct scripted_reply[]){{.failure = HTTP_DNS}}, 1);
	get("n=3");
	assert_int_equal(response.status, 200);
	expect_member("call_ms", "null");
	expect_member("statuses", "{}");
	expect_member("errors", "{\"dns\":3}");
}

static void details_come_in_order(void **state)
{
	static const struct scripted_reply replies[] = {
		{.status = 200, .bytes = 5}, {.failure = HTTP_TLS}, {.status = 500, .bytes = 7}};

	(void)state;
	script_by(&(struct scripted_options){.replies = replies, .reply_count = 3});
	handle_with(plain_options());
	run_on("pool", 1, 100); /* calls start, and so take their replies, in order */
	get("n=3&detail=1");
	expect_json(json_object_get(json_array_get(member("calls"), 0), "i"), "0");
	for (size_t i = 0; i < 3; i++) {
		const json_t *ms = json_object_get(json_array_get(member("calls"), i), "ms");

		assert_true(json_is_real(ms) && json_real_value(ms) < DEADLINE_MS);
		json_real_set((json_t *)ms, 0.5);
	}
	expect_member("calls", "[{\"i\":0,\"status\":200,\"ms\":0.5,\"bytes\":5},"
	                       "{\"i\":1,\"error\":\"tls\",\"ms\":0.5},"
	                       "{\"i\":2,\"status\":500,\"ms\":0.5,\"bytes\":7}]");
}

static void many_details_are_whole(void **state)
{
	size_t i;
	json_t *call;

	(void)state;
	set_up(NULL, 0);
	get("n=2500&detail=1");
	expect_member("ok", "2500");
	assert_int_equal(json_array_size(member("calls")), 2500);
	json_array_foreach(member("calls"), i, call)
		assert_int_equal(json_integer_value(json_object_get(call, "i")), i);
}

static void detail_0_is_none(void **state)
{
	(void)state;
	set_up(NULL, 0);
	get("n=1&detail=0");
	assert_null(json_object_get(body, "calls"));
}

static void at_most_max_parallel_calls_run_at_once(void **state)
{
	struct scripted_stats stats;

	(void)state;
	set_up((struct scripted_reply[]){{.delay_ns = 2000000}}, 1);
	get("n=30&max_parallel=3");
	scripted_client_stats(client, &stats);
	assert_int_equal(stats.calls, 30);
	assert_in_range(stats.peak_in_flight, 1, 3);
	assert_true(json_integer_value(member("peak_in_flight")) == stats.peak_in_flight);
	expect_member("ok", "30");
}

static void a_call_that_takes_too_long_is_a_timeout(void **state)
{
	static const struct scripted_reply replies[] = {{.delay_ns = INT64_MAX}, {.status = 200}};

	(void)state;
	set_up(replies, 2);
	get("n=4&timeout_ms=100");
	expect_member("ok", "2");
	expect_member("errors", "{\"timeout\":2}");
	assert_true(json_real_value(member("elapsed_ms")) < CALL_TIMEOUT_MS);
}

static void at_the_deadline_what_never_started_is_a_timeout_too(void **state)
{
	(void)state;
	set_up((struct scripted_reply[]){{.delay_ns = INT64_MAX}}, 1);
	get("n=50&max_parallel=2&deadline_ms=50&detail=1");
	assert_int_equal(response.status, 200);
	expect_member("ok", "0");
	expect_member("errors", "{\"timeout\":50}");
	assert_true(json_real_value(member("elapsed_ms")) < CALL_TIMEOUT_MS);
	assert_int_equal(json_array_size(member("calls")), 50);
}

static void the_deadline_counts_from_the_arrival(void **state)
{
	struct fanout_options options;

	(void)state;
	script_by(&(struct scripted_options){
		.replies = (struct scripted_reply[]){{.delay_ns = INT64_MAX}}, .reply_count = 1});
	options = plain_options();
	/* The request has DEADLINE_MS left: it came as long ago. */
	options.limits.deadline_ms = INT64_C(2) * DEADLINE_MS;
	handle_with(options);
	run_on("pool", POOL_THREADS, 100);
	get("n=1&deadline_ms=15000");
	expect_member("errors", "{\"timeout\":1}");
	assert_true(json_real_value(member("elapsed_ms")) < 5000);
}

static void what_the_executor_has_no_room_for_is_rejected(void **state)
{
	(void)state;
	script_by(&(struct scripted_options){0});
	handle_with(plain_options());
	run_on("pool", 1, 5); /* the request itself and 4 calls, which start when it joins them */
	get("n=10&detail=1");
	assert_int_equal(response.status, 200);
	expect_member("ok", "4");
	expect_member("errors", "{\"rejected\":6}");
	expect_json(json_array_get(member("calls"), 9),
	            "{\"i\":9,\"error\":\"rejected\",\"ms\":0.0}");
}

static void when_all_are_turned_away_it_is_a_503_with_the_same_body(void **state)
{
	(void)state;
	script_by(&(struct scripted_options){
		.replies = (struct scripted_reply[]){{.failure = HTTP_NO_PERMIT}},
		.reply_count = 1});
	handle_with(plain_options());
	run_on("pool", 1, 3);
	get("n=10");
	assert_int_equal(response.status, 503);
	assert_string_equal(response.content_type, "application/json");
	expect_header("Retry-After", "1");
	expect_member("errors", "{\"no_permit\":2,\"rejected\":8}");
	expect_member("failed", "10");
}

/* Fires the request's token once @at calls have started. */
struct trigger {
	struct serving *serving;
	unsigned at;
	enum cancel_reason reason;
};

static void fire_at(void *arg, const struct http_call *call, unsigned index,
                    struct scripted_reply *reply)
{
	struct trigger *trigger = arg;

	(void)call;
	reply->delay_ns = INT64_MAX;
	if (index + 1 == trigger->at)
		cancel_fire(&trigger->serving->cancel, trigger->reason);
}

static void expect_canceled(enum cancel_reason reason, bool detail)
{
	struct serving serving;
	struct trigger trigger = {&serving, 3, reason};

	script_by(&(struct scripted_options){.adjust = fire_at, .arg = &trigger});
	handle_with(plain_options());
	run_on("pool", POOL_THREADS, 1000);
	start_serving(&serving, "n=20&max_parallel=3&detail=1");
	finish_serving(&serving);
	expect_member("errors", "{\"canceled\":20}");
	assert_true(json_real_value(member("elapsed_ms")) < CALL_TIMEOUT_MS);
	assert_true((json_object_get(body, "calls") != NULL) == detail);
}

static void a_shutdown_ends_the_calls_and_answers_in_full(void **state)
{
	(void)state;
	expect_canceled(CANCEL_SHUTDOWN, true);
}

static void a_client_that_has_gone_gets_a_short_answer(void **state)
{
	(void)state;
	expect_canceled(CANCEL_CLIENT_GONE, false);
}

static void every_executor_gives_the_same_answer(void **state)
{
	static const struct scripted_reply replies[] = {{.status = 200, .delay_ns = 1000000},
	                                                {.failure = HTTP_RESET}};
	char name[32];

	(void)state;
	for (const char *const *kind = executor_names(); *kind; kind++) {
		int length = snprintf(name, sizeof(name), "\"%s\"", *kind);

		assert_in_range(length, 3, sizeof(name) - 1);
		script_by(&(struct scripted_options){.replies = replies, .reply_count = 2});
		handle_with(plain_options());
		run_on(*kind, 2, 10000);
		get("n=3000&detail=1&max_parallel=200");
		expect_member("executor", name);
		expect_member("statuses", "{\"200\":1500}");
		expect_member("errors", "{\"reset\":1500}");
		assert_int_equal(json_array_size(member("calls")), 3000);
		tear_down(NULL);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_calls_succeed),
		TEST(a_mix_is_counted_by_status_and_by_error),
		TEST(without_a_whole_reply_call_ms_is_null),
		TEST(details_come_in_order),
		TEST(many_details_are_whole),
		TEST(detail_0_is_none),
		TEST(at_most_max_parallel_calls_run_at_once),
		TEST(a_call_that_takes_too_long_is_a_timeout),
		TEST(at_the_deadline_what_never_started_is_a_timeout_too),
		TEST(the_deadline_counts_from_the_arrival),
		TEST(what_the_executor_has_no_room_for_is_rejected),
		TEST(when_all_are_turned_away_it_is_a_503_with_the_same_body),
		TEST(a_shutdown_ends_the_calls_and_answers_in_full),
		TEST(a_client_that_has_gone_gets_a_short_answer),
		TEST(every_executor_gives_the_same_answer),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
