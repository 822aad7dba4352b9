#include <stdio.h>
#include <string.h>

#include "tests/contract/client_fixture.h"
#include "tests/contract/silent_listener.h"

/* Which of a name's addresses the http1 client connects to, if some do not answer. */

enum { MOMENT_MS = 1500 }; /* "at once", on a machine that is busy with other tests */

static const struct raw_reply replies[] = {
	{.path = "/", .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
	{.path = NULL},
};

static int setup(void **state)
{
	return client_setup(state, replies);
}

/* A name is the list of its addresses, with '_' between them. */
static void look_up(const char *host, struct resolver_answer *answer)
{
	(void)snprintf(answer->addresses, sizeof(answer->addresses), "%s", host);
	for (char *at = answer->addresses; (at = strchr(at, '_'));)
		*at = ',';
	answer->reason = NULL;
}

/* With a client of its own, at the port of the fixture's server. */
static struct http_call call_name(const struct client_fixture *fixture, const char *name,
                                  int64_t timeout_ms)
{
	struct client_fixture own = *fixture;
	static char url[64];
	struct http_call call = {.url = url, .max_reply_bytes = CLIENT_MAX_REPLY_BYTES};

	assert_in_range(snprintf(url, sizeof(url), "http://%s:%u/", name,
	                         (unsigned)raw_server_port(fixture->server)),
	                1, sizeof(url) - 1);
	own.executor = start_executor(1);
	assert_int_equal(create_client(&(struct resolver_options){.look_up = look_up},
	                               &own.resolver, &own.client),
	                 0);
	(void)call_in_task(&own, &call, timeout_ms);
	executor_destroy(own.executor);
	http_client_destroy(own.client);
	resolver_destroy(own.resolver);
	return call;
}

static void assert_is_answered(struct http_call *call)
{
	assert_string_equal(http_failure_name(call->failure), "ok");
	assert_int_equal(call->status, 200);
	http_call_finish(call);
}

static void an_address_that_refuses_is_passed_over(void **state)
{
	struct http_call call = call_name(*state, "127.0.0.2_127.0.0.1", 5000);

	assert_is_answered(&call);
}

static void an_address_that_does_not_answer_leaves_time_for_the_next(void **state)
{
	const struct client_fixture *fixture = *state;
	struct silent_listener silent;
	struct http_call call;

	silent_listener_open(&silent, "127.0.0.2", raw_server_port(fixture->server), true);
	call = call_name(fixture, "127.0.0.2_127.0.0.1", 5000);
	assert_is_answered(&call);
	assert_in_range(call.elapsed_ns / 1000000, CLIENT_CONNECT_TIMEOUT_MS / 2,
	                CLIENT_CONNECT_TIMEOUT_MS / 2 + MOMENT_MS);

	/* Of the call's deadline, if that is earlier. */
	call = call_name(fixture, "127.0.0.2_127.0.0.1", CLIENT_CONNECT_TIMEOUT_MS * 3 / 4);
	assert_is_answered(&call);
	silent_listener_close(&silent);
}

static void a_call_ends_in_time_though_no_address_answers(void **state)
{
	const struct client_fixture *fixture = *state;
	struct silent_listener silent[2];
	struct http_call call;

	silent_listener_open(&silent[0], "127.0.0.2", raw_server_port(fixture->server), true);
	silent_listener_open(&silent[1], "127.0.0.3", raw_server_port(fixture->server), true);
	call = call_name(fixture, "127.0.0.2_127.0.0.3", 600);
	assert_string_equal(http_failure_name(call.failure), "timeout");
	assert_in_range(call.elapsed_ns / 1000000, 600, 600 + MOMENT_MS);
	silent_listener_close(&silent[1]);
	silent_listener_close(&silent[0]);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		CASE(an_address_that_refuses_is_passed_over),
		CASE(an_address_that_does_not_answer_leaves_time_for_the_next),
		CASE(a_call_ends_in_time_though_no_address_answers),
	};
#undef CASE

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
