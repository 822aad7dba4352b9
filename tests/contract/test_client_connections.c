#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/contract/client_bursts.h"

/* What goes over connections, and how long they are kept. */

#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static const struct raw_reply replies[] = {
	{.path = "/kept", .bytes = ANSWER},
	{.path = "/once", .bytes = ANSWER, .answers = 1},
	{.path = "/then-close", .bytes = ANSWER, .ending = RAW_CLOSE},
	{.path = "/then-reset", .bytes = ANSWER, .ending = RAW_RESET},
	{.path = "/then-more", .bytes = ANSWER "HTTP/1.1 666 Smuggled\r\n\r\n"},
	{.path = "/hold"},
	{.path = "/never", .ending = RAW_CLOSE},
	{.path = NULL},
};

static int setup(void **state)
{
	return client_setup(state, replies);
}

struct several_calls {
	struct http_client *client;
	const char *method, *url;
	unsigned count, ok;
};

static int make_several_calls(void *arg)
{
	struct several_calls *several = arg;

	for (unsigned i = 0; i < several->count; i++) {
		struct http_call call = {
			.method = several->method,
			.url = several->url,
			.max_reply_bytes = 100,
		};

		if (http_call(several->client, &call, deadline_in_ms(5000)) == HTTP_OK &&
		    call.status == 200)
			several->ok++;
		http_call_finish(&call);
	}
	return 0;
}

/* In one task, one after another; returns how many were answered. */
static unsigned call_in_turn(const struct client_fixture *fixture, const char *method,
                             const char *path, unsigned count)
{
	struct several_calls several = {
		.client = fixture->client,
		.method = method,
		.url = url_of(fixture, path),
		.count = count,
	};

	(void)run_in_task(fixture->executor, make_several_calls, &several);
	return several.ok;
}

static struct raw_counts counts_of(const struct client_fixture *fixture)
{
	struct raw_counts counts;

	raw_server_counts(fixture->server, &counts);
	return counts;
}

static void one_call_after_another_shares_a_connection(void **state)
{
	assert_int_equal(call_in_turn(*state, NULL, "/kept", 20), 20);
	assert_int_equal(counts_of(*state).requests, 20);
	assert_int_equal(counts_of(*state).connections, 1);
}

static void a_dead_connection_is_replaced_every_time(void **state)
{
	/* Each call but the first finds out only when it gets no answer. */
	assert_int_equal(call_in_turn(*state, NULL, "/once", 20), 20);
	assert_int_equal(counts_of(*state).connections, 20);
	assert_int_equal(counts_of(*state).requests, 39);
}

static void a_connection_closed_while_idle_is_replaced(void **state)
{
	assert_int_equal(call_in_turn(*state, NULL, "/then-close", 20), 20);
	assert_int_equal(call_in_turn(*state, NULL, "/then-reset", 20), 20);
	assert_int_equal(call_in_turn(*state, NULL, "/kept", 20), 20);
}

static void what_follows_a_reply_is_not_the_next_one(void **state)
{
	assert_int_equal(call_in_turn(*state, NULL, "/then-more", 20), 20);
}

static void a_post_is_never_sent_twice(void **state)
{
	assert_int_equal(call_in_turn(*state, NULL, "/kept", 1), 1);
	assert_int_equal(call_in_turn(*state, "POST", "/never", 1), 0);
	assert_int_equal(counts_of(*state).requests, 2);
	assert_int_equal(call_in_turn(*state, "POST", "/once", 5), 5);
	assert_int_equal(counts_of(*state).requests, 7);
}

static void a_request_is_plain(void **state)
{
	struct client_fixture *fixture = *state;
	char expected[512], request[RAW_REQUEST_BYTES];
	int length = snprintf(expected, sizeof(expected),
	                      "GET /kept HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
	                      "User-Agent: fanoutd/%s\r\nAccept: */*\r\n\r\n",
	                      (unsigned)raw_server_port(fixture->server), FANOUTD_VERSION);

	assert_in_range(length, 1, sizeof(expected) - 1);
	assert_int_equal(call_in_turn(fixture, NULL, "/kept", 1), 1);
	raw_server_last_request(fixture->server, request);
	assert_string_equal(request, expected);
	assert_int_equal(call_in_turn(fixture, "POST", "/kept", 1), 1);
	assert_int_equal(call_in_turn(fixture, "GET", "/kept", 1), 1);
	raw_server_last_request(fixture->server, request);
	assert_string_equal(request, expected);
}

static void a_body_is_sent_as_it_is(void **state)
{
	static const char body[] = "{\"a\":\0\"b\"}";
	struct client_fixture *fixture = *state;
	struct http_call call = {
		.method = "POST",
		.url = url_of(fixture, "/kept"),
		.body = body,
		.body_len = sizeof(body),
		.max_reply_bytes = 100,
	};
	char request[RAW_REQUEST_BYTES], *sent;

	assert_int_equal(call_in_task(fixture, &call, 5000), HTTP_OK);
	http_call_finish(&call);
	raw_server_last_request(fixture->server, request);
	assert_non_null(strstr(request, "POST /kept HTTP/1.1\r\n"));
	assert_non_null(strstr(request, "\r\nContent-Length: 11\r\n"));
	assert_null(strstr(request, "Content-Type"));
	assert_null(strstr(request, "Expect"));
	sent = strstr(request, "\r\n\r\n");
	assert_non_null(sent);
	assert_memory_equal(sent + 4, body, sizeof(body));
}

struct cpu_use {
	struct http_client *client;
	const char *close_url, *hold_url;
	int64_t idle_ms, waiting_ms;
};

static int64_t cpu_ms(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static int idle_and_wait(void *arg)
{
	struct cpu_use *use = arg;
	struct http_call call = {.url = use->close_url, .max_reply_bytes = 100};
	enum http_failure failure;
	int64_t before_ms;

	failure = http_call(use->client, &call, deadline_in_ms(5000));
	http_call_finish(&call);
	before_ms = cpu_ms();
	(void)task_sleep_until(deadline_in_ms(500));
	use->idle_ms = cpu_ms() - before_ms;

	call.url = use->hold_url;
	before_ms = cpu_ms();
	(void)http_call(use->client, &call, deadline_in_ms(500));
	use->waiting_ms = cpu_ms() - before_ms;
	return (int)failure;
}

/* Sockets that are ready, and watched although nobody acts on it, burn a core. */
static void neither_idling_nor_waiting_takes_cpu(void **state)
{
	struct client_fixture *fixture = *state;
	char close_url[64];
	struct cpu_use use = {.client = fixture->client, .close_url = close_url};

	assert_in_range(
		snprintf(close_url, sizeof(close_url), "%s", url_of(fixture, "/then-close")), 1,
		sizeof(close_url) - 1);
	use.hold_url = url_of(fixture, "/hold");
	assert_int_equal(run_in_task(fixture->executor, idle_and_wait, &use), HTTP_OK);
	assert_in_range(use.idle_ms, 0, 100);
	assert_in_range(use.waiting_ms, 0, 100);
}

static void calls_go_out_at_once(void **state)
{
	struct slow_endpoint_stats stats = make_two_bursts(*state, 200);

	assert_int_equal(stats.total, 400);
	assert_int_equal(stats.peak_in_flight, 200);
}

/* On the thread executor connections belong to a thread, and end with it. */
static void a_second_burst_finds_the_connections_of_the_first(void **state)
{
	struct slow_endpoint_stats stats;

	stats = make_two_bursts(*state, 300);
	assert_int_equal(stats.total, 600);
	assert_in_range(stats.connections, 300, 303);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		CASE(one_call_after_another_shares_a_connection),
		CASE(a_dead_connection_is_replaced_every_time),
		CASE(a_connection_closed_while_idle_is_replaced),
		CASE(what_follows_a_reply_is_not_the_next_one),
		CASE(a_post_is_never_sent_twice),
		CASE(a_request_is_plain),
		CASE(a_body_is_sent_as_it_is),
		CASE(neither_idling_nor_waiting_takes_cpu),
		CASE(calls_go_out_at_once),
		cmocka_unit_test_prestate_setup_teardown(
			a_second_burst_finds_the_connections_of_the_first, setup, client_teardown,
			"coroutine, pool"),
	};
#undef CASE

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
