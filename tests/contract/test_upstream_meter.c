#include "clients/shared_client.h"
#include "clients/upstream_meter.h"
#include "tests/contract/many_calls.h"
#include "tests/fakes/scripted_client.h"

/* What is counted of calls, and which of two clients they go to. */

#define MS_NS INT64_C(1000000)

static struct http_client *create_scripted(const struct scripted_reply *replies, size_t count)
{
	struct http_client *client;

	assert_int_equal(scripted_client_create(&(struct scripted_options){.replies = replies,
	                                                                   .reply_count = count},
	                                        &client),
	                 0);
	return client;
}

static struct executor *executor;
static struct http_client *meter;

static void start(const struct scripted_reply *replies, size_t count)
{
	executor = start_executor(100);
	assert_int_equal(upstream_meter_create(create_scripted(replies, count), &meter), 0);
}

static void stop(void)
{
	executor_destroy(executor);
	http_client_destroy(meter);
}

static struct upstream_stats stats(void)
{
	struct upstream_stats now = {0};

	upstream_meter_stats(meter, &now);
	return now;
}

static void each_call_is_counted_by_its_result(void **state)
{
	struct scripted_reply replies[] = {{.status = 200},         {.status = 204},
	                                   {.status = 304},         {.status = 500},
	                                   {.failure = HTTP_RESET}, {.failure = HTTP_BREAKER}};
	struct upstream_stats seen;

	(void)state;
	start(replies, 6);
	make_calls(executor, &(struct many_calls){.client = meter, .count = 60});
	seen = stats();
	assert_int_equal(seen.results[HTTP_OK], 20);
	assert_int_equal(seen.results[UPSTREAM_BAD_STATUS], 20);
	assert_int_equal(seen.results[HTTP_RESET], 10);
	assert_int_equal(seen.results[HTTP_BREAKER], 10);
	assert_int_equal(seen.results[HTTP_TIMEOUT], 0);
	assert_int_equal(seen.attempts, 60);
	assert_int_equal(seen.in_flight, 0);
	stop();
}

static void results_have_the_names_that_users_see(void **state)
{
	(void)state;
	assert_string_equal(upstream_result_name(HTTP_OK), "ok");
	assert_string_equal(upstream_result_name(HTTP_BREAKER), "breaker");
	assert_string_equal(upstream_result_name(UPSTREAM_BAD_STATUS), "bad_status");
}

/* Calls of the classes that end at or below @most_ns. */
static uint64_t sum_of(const struct upstream_stats *seen, int64_t most_ns)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < UPSTREAM_DURATION_BOUNDS; i++)
		sum += upstream_duration_bounds_ns[i] <= most_ns ? seen->durations[i] : 0;
	return sum;
}

static void durations_are_counted_by_class(void **state)
{
	struct scripted_reply replies[] = {{.delay_ns = 30 * MS_NS}, {.delay_ns = 300 * MS_NS}};
	struct upstream_stats seen;

	(void)state;
	start(replies, 2);
	make_calls(executor, &(struct many_calls){.client = meter, .count = 20});
	seen = stats();
	assert_int_equal(sum_of(&seen, 25 * MS_NS), 0);
	assert_in_range(sum_of(&seen, 250 * MS_NS), 0, 10);
	assert_int_equal(sum_of(&seen, INT64_MAX) + seen.durations[UPSTREAM_DURATION_BOUNDS], 20);
	assert_true(seen.durations_ns >= 10 * 330 * MS_NS);
	assert_true(seen.p50_ns >= 30 * MS_NS);
	assert_true(seen.p95_ns >= 300 * MS_NS && seen.p99_ns >= seen.p95_ns);
	stop();
}

static void failures_are_left_out_of_the_percentiles(void **state)
{
	struct scripted_reply reply = {.failure = HTTP_RESET};

	(void)state;
	start(&reply, 1);
	make_calls(executor, &(struct many_calls){.client = meter, .count = 20});
	assert_int_equal(stats().p99_ns, 0);
	stop();
}

static unsigned seen_in_flight;

static enum http_failure look(struct http_client *client, struct http_call *call,
                              struct deadline deadline)
{
	(void)client;
	(void)deadline;
	seen_in_flight = stats().in_flight;
	call->status = 200;
	return HTTP_OK;
}

static void leave_alone(struct http_client *client)
{
	(void)client;
}

static void a_call_under_way_is_in_flight(void **state)
{
	static const struct http_client_ops ops = {
		.name = "looking", .call = look, .destroy = leave_alone};
	struct http_client looking = {&ops};

	(void)state;
	executor = start_executor(10);
	assert_int_equal(upstream_meter_create(&looking, &meter), 0);
	make_calls(executor, &(struct many_calls){.client = meter, .count = 1});
	assert_int_equal(seen_in_flight, 1);
	assert_int_equal(stats().in_flight, 0);
	stop();
}

static unsigned calls_of(struct http_client *scripted)
{
	struct scripted_stats seen;

	scripted_client_stats(scripted, &seen);
	return seen.calls;
}

static void calls_go_where_their_scheme_says(void **state)
{
	static const char *const urls[] = {"http://a/", "https://a/", "HTTPS://a/", "http:https:"};
	struct http_client *for_http = create_scripted(NULL, 0),
			   *for_https = create_scripted(NULL, 0), *shared;

	(void)state;
	executor = start_executor(10);
	assert_int_equal(shared_client_create(for_http, for_https, &shared), 0);
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		make_calls(executor,
		           &(struct many_calls){.client = shared, .count = 1, .like.url = urls[i]});
	assert_int_equal(calls_of(for_http), 2);
	assert_int_equal(calls_of(for_https), 2);
	executor_destroy(executor);
	http_client_destroy(shared);
	assert_int_equal(calls_of(for_http), 2); /* still there */
	http_client_destroy(for_http);
	http_client_destroy(for_https);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(each_call_is_counted_by_its_result),
		cmocka_unit_test(results_have_the_names_that_users_see),
		cmocka_unit_test(durations_are_counted_by_class),
		cmocka_unit_test(failures_are_left_out_of_the_percentiles),
		cmocka_unit_test(a_call_under_way_is_in_flight),
		cmocka_unit_test(calls_go_where_their_scheme_says),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
