#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clients/http1_request.h"
#include "tests/contract/client_fixture.h"
#include "tests/fakes/refusals.h"

/* What becomes of calls when the system refuses us something at the k-th time: an answer or a
 * failure with its reason; and the call after it succeeds. */
static const struct raw_reply replies[] = {
	{"/", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0, RAW_KEEP, 0},
	{0},
};

static struct raw_server *server;
static char url[128];

static void look_up(const char *host, struct resolver_answer *answer)
{
	(void)host;
	*answer = (struct resolver_answer){.addresses = "127.0.0.1"};
}

static const struct resolver_options resolver_options = {.look_up = look_up};

static int set_up(void **state)
{
	int length;

	(void)state;
	(void)lanes_for_tests(); /* now, when nothing is refused */
	server = raw_server_start(replies);
	length = snprintf(url, sizeof(url), "http://name.example:%u/",
	                  (unsigned)raw_server_port(server));
	assert_in_range(length, 1, sizeof(url) - 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	raw_server_stop(server);
	return 0;
}

struct attempt {
	struct http_client *client;
	struct resolver *resolver;
	unsigned k, refused; /* the task's own thread is not what is to be refused */
	struct http_call first, second;
};

static int call_twice(void *arg)
{
	struct attempt *attempt = arg;

	refuse(REFUSE_ALL, attempt->k);
	(void)http_call(attempt->client, &attempt->first, deadline_in_ms(20000));
	attempt->refused = refusals_end();
	(void)http_call(attempt->client, &attempt->second, deadline_in_ms(20000));
	return 0;
}

/* With all that memory is needed for. */
static struct http_call call_to_server(void)
{
	static char value[HTTP1_REQUEST_SMALL_BYTES];
	static const struct http_header header = {"X-Long", value};

	memset(value, 'x', sizeof(value) - 1);
	return (struct http_call){
		.url = url,
		.max_reply_bytes = CLIENT_MAX_REPLY_BYTES,
		.headers = &header,
		.header_count = 1,
		.keep_headers = true,
	};
}

/* True if the first call failed. */
static bool try_calls(struct attempt *attempt)
{
	struct executor *executor = start_executor(4);
	bool has_failed;

	assert_int_equal(create_client(&resolver_options, &attempt->resolver, &attempt->client), 0);
	attempt->first = attempt->second = call_to_server();
	assert_int_equal(run_in_task(executor, call_twice, attempt), 0);
	has_failed = attempt->first.failure != HTTP_OK;
	if (has_failed) {
		assert_non_null(attempt->first.reason);
		assert_null(attempt->first.reply);
		assert_null(attempt->first.reply_headers);
	}
	assert_string_equal(http_failure_name(attempt->second.failure), "ok");
	assert_int_equal(attempt->second.reply_header_count, 1);
	http_call_finish(&attempt->first);
	http_call_finish(&attempt->second);
	executor_destroy(executor);
	http_client_destroy(attempt->client);
	resolver_destroy(attempt->resolver);
	return has_failed;
}

static void a_call_ends_whatever_is_refused_and_the_next_succeeds(void **state)
{
	struct attempt attempt = {.refused = 1};
	unsigned failures = 0, fds = 0;

	(void)state;
	for (unsigned k = 1; attempt.refused > 0; k++) {
		attempt.k = k;
		failures += try_calls(&attempt);
		assert_true(raw_server_wait_open(server, 0));
		if (fds == 0)
			fds = count_fds(); /* the first leaves what libraries keep */
		assert_int_equal(count_fds(), fds);
	}
	assert_true(failures > 2);
}

static void a_client_starts_or_says_why_not(void **state)
{
	struct http_client *client = NULL;
	struct resolver *resolver = NULL;
	unsigned refused = 1, failures = 0;

	(void)state;
	(void)lanes_for_tests(); /* now, when nothing is refused */
	for (unsigned k = 1; refused > 0; k++) {
		int error;

		refuse(REFUSE_ALL, k);
		error = create_client(&resolver_options, &resolver, &client);
		refused = refusals_end();
		if (error == 0) {
			http_client_destroy(client);
			resolver_destroy(resolver);
		} else {
			assert_int_equal(error, -ENOMEM);
		}
		failures += error < 0;
	}
	assert_int_equal(failures, 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_starts_or_says_why_not),
		cmocka_unit_test_setup_teardown(
			a_call_ends_whatever_is_refused_and_the_next_succeeds, set_up, tear_down),
	};

	return run_over_client(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
