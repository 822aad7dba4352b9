#include "server/slow_endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "tests/integration/slow_endpoint_fixture.h"
#include "tests/with_cmocka.h"

/* What the slow endpoint is for: delays, faults and true counts. */

enum { CROWD = 1000 };

static void answers_after_the_delay_and_not_before(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct deadline due = deadline_in_ms(20);

		client_get(fd, "/slow?ms=20");
		client_read_until(fd, "\r\n\r\nok", reply);
		assert_int_equal(deadline_remaining_ns(due), 0);
		assert_starts_with(reply, "HTTP/1.1 200 OK\r\n");
	}
	close(fd);
	assert_int_equal(stats().total, 10);
	assert_int_equal(stats().connections, 1);
	assert_int_equal(stats().peak_in_flight, 1);
}

static void jitter_only_adds(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct deadline due = deadline_in_ms(5);

		client_get(fd, "/slow?ms=5&jitter_ms=10");
		client_read_until(fd, "\r\n\r\nok", reply);
		assert_int_equal(deadline_remaining_ns(due), 0);
	}
	close(fd);
}

static void a_rate_is_shared_by_all_connections(void **state)
{
	char head[REPLY_BYTES];
	unsigned refused = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		int fd = client_connect();

		client_get(fd, "/slow?ms=0&rate=5");
		(void)client_read_reply(fd, head);
		if (strncmp(head, "HTTP/1.1 429 ", 13) == 0) {
			assert_non_null(strstr(head, "Retry-After: 1\r\n"));
			refused++;
		}
		close(fd);
	}
	/* A slow machine may take so long that a token or two grow back. */
	assert_in_range(refused, 1, 3);
	assert_int_equal(stats().refused, refused);
	assert_int_equal(stats().total, 8);
}

static void a_percentage_of_requests_fails(void **state)
{
	char head[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	for (int i = 1; i <= 8; i++) {
		bool fails = i % 4 == 0;

		client_get(fd, "/slow?ms=0&status=503&retry_after=7&fail_percent=25");
		assert_int_equal(client_read_reply(fd, head), 2);
		assert_starts_with(head, fails ? "HTTP/1.1 503 " : "HTTP/1.1 200 ");
		assert_int_equal(strstr(head, "\r\nRetry-After: 7\r\n") != NULL, fails);
	}
	close(fd);
}

static void a_percentage_of_requests_is_slow(void **state)
{
	char head[REPLY_BYTES];
	int fast = client_connect(), slow = client_connect();

	(void)state;
	client_get(fast, "/slow?ms=0&slow_percent=50&slow_ms=600000");
	assert_int_equal(client_read_reply(fast, head), 2);
	client_get(slow, "/slow?ms=0&slow_percent=50&slow_ms=600000");
	assert_true(in_flight_becomes("1"));
	client_get(fast, "/slow?ms=0&slow_percent=50&slow_ms=600000");
	assert_int_equal(client_read_reply(fast, head), 2);
	assert_int_equal(stats().in_flight, 1);
	close(slow);
	close(fast);
}

static void a_redirect_leads_to_something(void **state)
{
	char head[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_get(fd, "/slow?ms=0&status=302");
	assert_int_equal(client_read_reply(fd, head), 2);
	assert_starts_with(head, "HTTP/1.1 302 Found\r\n");
	assert_non_null(strstr(head, "\r\nLocation: /stats\r\n"));
	close(fd);
}

static void fault_reset_resets(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();
	struct deadline due = deadline_in_ms(20);

	(void)state;
	client_get(fd, "/slow?ms=20&fault=reset");
	assert_int_equal(client_read_to_end(fd, reply), -ECONNRESET);
	assert_int_equal(deadline_remaining_ns(due), 0);
	close(fd);
	assert_int_equal(stats().in_flight, 0);
	assert_int_equal(stats().canceled, 0);
}

static void fault_close_ends_without_a_byte(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_get(fd, "/slow?ms=1&fault=close");
	assert_int_equal(client_read_to_end(fd, reply), 0);
	close(fd);
}

static void fault_garbage_sends_what_is_not_http(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_get(fd, "/slow?ms=1&fault=garbage");
	assert_true(client_read_to_end(fd, reply) > 0);
	assert_memory_not_equal(reply, "HTTP/", 5);
	close(fd);
}

static void fault_stall_stops_in_the_middle(void **state)
{
	struct pollfd readable;
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_get(fd, "/slow?ms=1&bytes=10&fault=stall");
	client_read_until(fd, "\r\n\r\nokoko", reply);
	readable = (struct pollfd){.fd = fd, .events = POLLIN};
	assert_int_equal(poll(&readable, 1, 100), 0);
	assert_int_equal(stats().in_flight, 0);
	close(fd);
	/* Still alive, with the stalled client gone. */
	assert_true(in_flight_becomes("0"));
}

static void in_flight_falls_when_the_client_goes(void **state)
{
	static const bool by_reset[] = {false, true};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct linger hard = {.l_onoff = 1};
		int fd = client_connect();

		client_get(fd, "/slow?ms=600000");
		assert_true(in_flight_becomes("1"));
		if (by_reset[i])
			assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)),
			                 0);
		close(fd);
		assert_true(in_flight_becomes("0"));
		assert_int_equal(stats().canceled, i + 1);
	}
}

static void a_half_close_counts_as_gone(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_get(fd, "/slow?ms=600000");
	assert_true(in_flight_becomes("1"));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(client_read_to_end(fd, reply), 0);
	close(fd);
	assert_int_equal(stats().in_flight, 0);
}

static void a_client_with_its_answer_never_sees_itself(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	for (int i = 0; i < 200; i++) {
		client_get(fd, "/slow?ms=0");
		client_read_until(fd, "\r\n\r\nok", reply);
		assert_int_equal(stats().in_flight, 0);
	}
	close(fd);
}

static void a_thousand_at_once_are_seen_at_once(void **state)
{
	static int fds[CROWD];
	char reply[REPLY_BYTES];

	(void)state;
	for (int i = 0; i < CROWD; i++) {
		fds[i] = client_connect();
		client_get(fds[i], "/slow?ms=600000");
	}
	assert_true(in_flight_becomes("1000"));
	for (int i = 0; i < CROWD; i++)
		close(fds[i]);
	assert_true(in_flight_becomes("0"));
	fds[0] = client_connect();
	client_get(fds[0], "/stats");
	client_read_until(fds[0], "}", reply);
	assert_non_null(strstr(reply, "{\"in_flight\":0,\"peak_in_flight\":1000,\"total\":1000,"
	                              "\"connections\":1000"));
	close(fds[0]);
}

static void a_reset_forgets_all_but_what_is_in_flight(void **state)
{
	char head[REPLY_BYTES];
	int waiting = client_connect(), fd = client_connect();

	(void)state;
	client_get(waiting, "/slow?ms=600000");
	assert_true(in_flight_becomes("1"));
	client_get(fd, "/slow?ms=0");
	(void)client_read_reply(fd, head);
	assert_int_equal(stats().peak_in_flight, 2);
	client_send(fd, "POST /stats/reset HTTP/1.1\r\n\r\n");
	(void)client_read_reply(fd, head);
	assert_int_equal(stats().in_flight, 1);
	assert_int_equal(stats().peak_in_flight, 1);
	assert_int_equal(stats().total, 0);
	assert_int_equal(stats().connections, 0);
	client_get(fd, "/slow?ms=0");
	(void)client_read_reply(fd, head);
	assert_int_equal(stats().connections, 1);
	close(fd);
	close(waiting);
}

static void a_port_in_use_is_refused(void **state)
{
	struct slow_endpoint_options options = {
		.host = "127.0.0.1",
		.port = slow_endpoint_port(endpoint),
		.backlog = 16,
	};
	struct slow_endpoint *second = NULL;

	(void)state;
	assert_int_equal(slow_endpoint_start(&options, &second), -EADDRINUSE);
	assert_null(second);
}

static void stopping_cuts_what_is_waiting(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	client_get(fd, "/slow?ms=600000");
	assert_true(in_flight_becomes("1"));
	assert_int_equal(stop_slow_endpoint(state), 0);
	assert_int_equal(client_read_to_end(fd, reply), 0);
	close(fd);
}

/* The endpoint shares our limit: with no fd to be had it cannot accept, and must get over it. */
static void running_out_of_fds_only_delays(void **state)
{
	struct deadline deadline = deadline_in_ms(PATIENCE_MS);
	struct rlimit before, none;
	char reply[REPLY_BYTES];
	int early = client_connect(), late = client_open();

	(void)state;
	client_get(early, "/slow?ms=0");
	client_read_until(early, "\r\n\r\nok", reply);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	client_connect_opened(late);
	client_get(late, "/slow?ms=0");
	/* Those who are connected are served meanwhile. */
	while (stats().accept_backoffs == 0 && deadline_remaining_ns(deadline) > 0) {
		client_get(early, "/stats");
		client_read_until(early, "}", reply);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_not_equal(stats().accept_backoffs, 0);
	client_read_until(late, "\r\n\r\nok", reply);
	close(late);
	close(early);
}

int main(void)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, start_slow_endpoint, stop_slow_endpoint)
	const struct CMUnitTest tests[] = {
		SERVED(answers_after_the_delay_and_not_before),
		SERVED(jitter_only_adds),
		SERVED(a_rate_is_shared_by_all_connections),
		SERVED(a_percentage_of_requests_fails),
		SERVED(a_percentage_of_requests_is_slow),
		SERVED(a_redirect_leads_to_something),
		SERVED(fault_reset_resets),
		SERVED(fault_close_ends_without_a_byte),
		SERVED(fault_garbage_sends_what_is_not_http),
		SERVED(fault_stall_stops_in_the_middle),
		SERVED(in_flight_falls_when_the_client_goes),
		SERVED(a_half_close_counts_as_gone),
		SERVED(a_client_with_its_answer_never_sees_itself),
		SERVED(a_thousand_at_once_are_seen_at_once),
		SERVED(a_reset_forgets_all_but_what_is_in_flight),
		SERVED(a_port_in_use_is_refused),
		SERVED(stopping_cuts_what_is_waiting),
		SERVED(running_out_of_fds_only_delays),
	};
	struct rlimit limit;

	/* A thousand clients and their other ends are all in this process. */
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
