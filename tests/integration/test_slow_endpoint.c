#include "server/slow_endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "tests/with_cmocka.h"

enum { PATIENCE_MS = 20000, CROWD = 1000, REPLY_BYTES = 8192 };

static struct slow_endpoint *endpoint;

static int start_endpoint(void **state)
{
	struct slow_endpoint_options options = {.host = "127.0.0.1", .backlog = 4096};

	(void)state;
	return slow_endpoint_start(&options, &endpoint);
}

static int stop_endpoint(void **state)
{
	(void)state;
	slow_endpoint_stop(endpoint);
	endpoint = NULL;
	return 0;
}

static int open_client(void)
{
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
	return fd;
}

static void connect_opened(int fd)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(slow_endpoint_port(endpoint)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static int connect_client(void)
{
	int fd = open_client();

	connect_opened(fd);
	return fd;
}

static void send_text(int fd, const char *text)
{
	size_t length = strlen(text);

	assert_int_equal(send(fd, text, length, MSG_NOSIGNAL), length);
}

static void send_get(int fd, const char *target)
{
	char text[256];
	int length = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);

	assert_in_range(length, 1, sizeof(text) - 1);
	send_text(fd, text);
}

/* Read until @reply ends with @end. */
static void read_until(int fd, const char *end, char reply[REPLY_BYTES])
{
	size_t length = 0;
	size_t end_length = strlen(end);

	do {
		ssize_t got = recv(fd, reply + length, 1, 0);

		if (got != 1)
			fail_msg("wanted \"%s\" after \"%.*s\"", end, (int)length, reply);
		length++;
		assert_true(length < REPLY_BYTES);
	} while (length < end_length || memcmp(reply + length - end_length, end, end_length) != 0);
	reply[length] = '\0';
}

/* Read all until the endpoint ends the connection. Returns the bytes read; -errno after an error.
 */
static ssize_t read_to_end(int fd, char reply[REPLY_BYTES])
{
	size_t length = 0;
	ssize_t got;

	while ((got = recv(fd, reply + length, REPLY_BYTES - 1 - length, 0)) > 0)
		length += (size_t)got;
	reply[length] = '\0';
	return got < 0 ? -errno : (ssize_t)length;
}

/* One reply with a body: the head, then as many bytes as it says, whose number is returned. */
static size_t read_reply(int fd, char head[REPLY_BYTES])
{
	const char *field;
	char body[4096];
	size_t length, left;

	read_until(fd, "\r\n\r\n", head);
	field = strstr(head, "Content-Length: ");
	assert_non_null(field);
	length = left = strtoul(field + strlen("Content-Length: "), NULL, 10);
	while (left > 0) {
		ssize_t got = recv(fd, body, left < sizeof(body) ? left : sizeof(body), 0);

		assert_true(got > 0);
		left -= (size_t)got;
	}
	return length;
}

static void assert_starts_with(const char *text, const char *start)
{
	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("\"%s\" does not start with \"%s\"", text, start);
}

/* Each look is a round trip to the endpoint: no need to sleep between them. */
static bool in_flight_becomes(const char *count)
{
	struct deadline deadline = deadline_in_ms(PATIENCE_MS);
	char wanted[64], reply[REPLY_BYTES];
	bool found = false;
	int fd = connect_client();

	assert_in_range(snprintf(wanted, sizeof(wanted), "{\"in_flight\":%s,", count), 1, 63);
	while (!found && deadline_remaining_ns(deadline) > 0) {
		send_get(fd, "/stats");
		read_until(fd, "}", reply);
		found = strstr(reply, wanted) != NULL;
	}
	close(fd);
	return found;
}

static struct slow_endpoint_stats stats(void)
{
	struct slow_endpoint_stats now;

	slow_endpoint_stats(endpoint, &now);
	return now;
}

static void answers_after_the_delay_and_not_before(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct deadline due = deadline_in_ms(20);

		send_get(fd, "/slow?ms=20");
		read_until(fd, "\r\n\r\nok", reply);
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
	int fd = connect_client();

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct deadline due = deadline_in_ms(5);

		send_get(fd, "/slow?ms=5&jitter_ms=10");
		read_until(fd, "\r\n\r\nok", reply);
		assert_int_equal(deadline_remaining_ns(due), 0);
	}
	close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	send_text(fd, "GET /slow?ms=30&status=201 HTTP/1.1\r\n\r\n"
	              "GET /slow?ms=0&status=202 HTTP/1.1\r\n\r\n"
	              "GET /nothing HTTP/1.1\r\n\r\n"
	              "GET /slow?ms=1&status=503 HTTP/1.1\r\nConnection: close\r\n\r\n");
	assert_true(read_to_end(fd, reply) > 0);
	close(fd);
	char *first = strstr(reply, "HTTP/1.1 201 "), *second = strstr(reply, "HTTP/1.1 202 ");
	char *third = strstr(reply, "HTTP/1.1 404 "), *fourth = strstr(reply, "HTTP/1.1 503 ");

	assert_true(first == reply && first < second && second < third && third < fourth);
}

/* More than a turn of one connection, so that it has to give way and go on. */
static void a_long_pipeline_is_answered_to_its_end(void **state)
{
	enum { COUNT = 1000 };
	static const char request[] = "GET /slow?ms=0 HTTP/1.1\r\n\r\n";
	char *requests = malloc(COUNT * sizeof(request));
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	assert_non_null(requests);
	requests[0] = '\0';
	for (size_t i = 0; i < COUNT; i++)
		memcpy(requests + i * (sizeof(request) - 1), request, sizeof(request));
	send_text(fd, requests);
	free(requests);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(read_reply(fd, reply), 2);
	close(fd);
	assert_int_equal(stats().total, COUNT);
}

static void a_request_may_come_byte_by_byte(void **state)
{
	static const char request[] = "GET /slow?ms=0 HTTP/1.1\r\nHost: a\r\n\r\n";
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	for (size_t i = 0; i < sizeof(request) - 1; i++)
		assert_int_equal(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
	read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void long_heads_fit_and_too_long_ones_are_refused(void **state)
{
	static char head[20000];
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	memset(head, 'x', sizeof(head) - 1);
	memcpy(head, "GET /slow?ms=0 HTTP/1.1\r\nA: ", 28);
	assert_int_equal(send(fd, head, 12000, MSG_NOSIGNAL), 12000);
	send_text(fd, "\r\n\r\n");
	read_until(fd, "\r\n\r\nok", reply);
	send_text(fd, head);
	assert_true(read_to_end(fd, reply) > 0);
	assert_starts_with(reply, "HTTP/1.1 431 ");
	close(fd);
}

static void bodies_of_requests_are_skipped(void **state)
{
	static char body[300001];
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	memset(body, 'x', sizeof(body) - 1);
	send_text(fd, "POST /stats/reset HTTP/1.1\r\nContent-Length: 300000\r\n\r\n");
	send_text(fd, body);
	send_get(fd, "/slow?ms=0&status=201");
	assert_int_not_equal(read_reply(fd, reply), 0);
	assert_starts_with(reply, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
	assert_int_equal(read_reply(fd, reply), 2);
	assert_starts_with(reply, "HTTP/1.1 201 ");
	close(fd);
}

static void a_client_that_expects_it_is_told_to_continue(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	send_text(fd, "GET /slow?ms=0 HTTP/1.1\r\nExpect: 100-continue\r\n"
	              "Content-Length: 3\r\n\r\n");
	read_until(fd, "\r\n\r\n", reply);
	assert_string_equal(reply, "HTTP/1.1 100 Continue\r\n\r\n");
	send_text(fd, "abc");
	read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void connections_close_as_asked(void **state)
{
	static const char *const requests[] = {
		"GET /slow?ms=1 HTTP/1.1\r\nConnection: close\r\n\r\n",
		"GET /slow?ms=1 HTTP/1.0\r\n\r\n",
		"GET /slow?ms=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"GET /slow?ms=1 HTTP/1.1\n\n",
	};
	char reply[REPLY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		int fd = connect_client();

		send_text(fd, requests[i]);
		assert_true(read_to_end(fd, reply) > 0);
		assert_starts_with(reply, "HTTP/1.1 ");
		assert_non_null(strstr(reply, "Connection: close\r\n"));
		close(fd);
	}
}

/* More than the kernel buffers: 4 MiB on the sending side (tcp_wmem), a little on ours. */
static void a_large_body_waits_for_a_slow_reader(void **state)
{
	enum { WANTED = 8 << 20, PART = 10000 };
	const int receive_bytes = 256 * 1024;
	char reply[REPLY_BYTES], expected[PART + 2], body[PART];
	size_t length = 0;
	int fd = open_client();

	(void)state;
	for (size_t i = 0; i < sizeof(expected); i++)
		expected[i] = "ok"[i % 2];
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes)), 0);
	connect_opened(fd);
	send_get(fd, "/slow?ms=0&bytes=8388608");
	read_until(fd, "\r\n\r\n", reply);
	assert_non_null(strstr(reply, "Content-Length: 8388608\r\n"));
	/* Others are served while this one blocks. */
	assert_true(in_flight_becomes("0"));
	while (length < WANTED) {
		ssize_t got = recv(fd, body, sizeof(body), 0);

		assert_true(got > 0);
		assert_memory_equal(body, expected + length % 2, (size_t)got);
		length += (size_t)got;
	}
	assert_int_equal(length, WANTED);
	send_get(fd, "/slow?ms=0");
	read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void a_chunked_body_has_the_length_asked(void **state)
{
	char reply[REPLY_BYTES], data[4096];
	size_t total = 0, chunk;
	int fd = connect_client();

	(void)state;
	send_get(fd, "/slow?ms=0&bytes=200000&chunked=1");
	read_until(fd, "\r\n\r\n", reply);
	assert_non_null(strstr(reply, "Transfer-Encoding: chunked\r\n"));
	do {
		read_until(fd, "\r\n", reply);
		chunk = strtoul(reply, NULL, 16);
		total += chunk;
		for (size_t left = chunk + 2; left > 0;) {
			ssize_t got = recv(fd, data, left < sizeof(data) ? left : sizeof(data), 0);

			assert_true(got > 0);
			left -= (size_t)got;
		}
	} while (chunk > 0);
	assert_int_equal(total, 200000);
	send_get(fd, "/slow?ms=0");
	read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void statuses_without_a_body_keep_the_connection(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	send_get(fd, "/slow?ms=0&status=204");
	read_until(fd, "\r\n\r\n", reply);
	assert_string_equal(reply, "HTTP/1.1 204 No Content\r\n\r\n");
	send_get(fd, "/slow?ms=0&status=304&bytes=10");
	read_until(fd, "\r\n\r\n", reply);
	assert_string_equal(reply, "HTTP/1.1 304 Not Modified\r\n\r\n");
	send_get(fd, "/slow?ms=0");
	read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void a_rate_is_shared_by_all_connections(void **state)
{
	char head[REPLY_BYTES];
	unsigned refused = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		int fd = connect_client();

		send_get(fd, "/slow?ms=0&rate=5");
		(void)read_reply(fd, head);
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

static void fault_reset_resets(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();
	struct deadline due = deadline_in_ms(20);

	(void)state;
	send_get(fd, "/slow?ms=20&fault=reset");
	assert_int_equal(read_to_end(fd, reply), -ECONNRESET);
	assert_int_equal(deadline_remaining_ns(due), 0);
	close(fd);
	assert_int_equal(stats().in_flight, 0);
	assert_int_equal(stats().canceled, 0);
}

static void fault_close_ends_without_a_byte(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	send_get(fd, "/slow?ms=1&fault=close");
	assert_int_equal(read_to_end(fd, reply), 0);
	close(fd);
}

static void fault_garbage_sends_what_is_not_http(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	send_get(fd, "/slow?ms=1&fault=garbage");
	assert_true(read_to_end(fd, reply) > 0);
	assert_memory_not_equal(reply, "HTTP/", 5);
	close(fd);
}

static void fault_stall_stops_in_the_middle(void **state)
{
	struct pollfd readable;
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	send_get(fd, "/slow?ms=1&bytes=10&fault=stall");
	read_until(fd, "\r\n\r\nokoko", reply);
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
		int fd = connect_client();

		send_get(fd, "/slow?ms=600000");
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
	int fd = connect_client();

	(void)state;
	send_get(fd, "/slow?ms=600000");
	assert_true(in_flight_becomes("1"));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(read_to_end(fd, reply), 0);
	close(fd);
	assert_int_equal(stats().in_flight, 0);
}

static void a_client_with_its_answer_never_sees_itself(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connect_client();

	(void)state;
	for (int i = 0; i < 200; i++) {
		send_get(fd, "/slow?ms=0");
		read_until(fd, "\r\n\r\nok", reply);
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
		fds[i] = connect_client();
		send_get(fds[i], "/slow?ms=600000");
	}
	assert_true(in_flight_becomes("1000"));
	for (int i = 0; i < CROWD; i++)
		close(fds[i]);
	assert_true(in_flight_becomes("0"));
	fds[0] = connect_client();
	send_get(fds[0], "/stats");
	read_until(fds[0], "}", reply);
	assert_non_null(strstr(reply, "{\"in_flight\":0,\"peak_in_flight\":1000,\"total\":1000,"
	                              "\"connections\":1000"));
	close(fds[0]);
}

static void a_reset_forgets_all_but_what_is_in_flight(void **state)
{
	char head[REPLY_BYTES];
	int waiting = connect_client(), fd = connect_client();

	(void)state;
	send_get(waiting, "/slow?ms=600000");
	assert_true(in_flight_becomes("1"));
	send_get(fd, "/slow?ms=0");
	(void)read_reply(fd, head);
	assert_int_equal(stats().peak_in_flight, 2);
	send_text(fd, "POST /stats/reset HTTP/1.1\r\n\r\n");
	(void)read_reply(fd, head);
	assert_int_equal(stats().in_flight, 1);
	assert_int_equal(stats().peak_in_flight, 1);
	assert_int_equal(stats().total, 0);
	assert_int_equal(stats().connections, 0);
	send_get(fd, "/slow?ms=0");
	(void)read_reply(fd, head);
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
	int fd = connect_client();

	send_get(fd, "/slow?ms=600000");
	assert_true(in_flight_becomes("1"));
	assert_int_equal(stop_endpoint(state), 0);
	assert_int_equal(read_to_end(fd, reply), 0);
	close(fd);
}

/* The endpoint shares our limit: with no fd to be had it cannot accept, and must get over it. */
static void running_out_of_fds_only_delays(void **state)
{
	struct deadline deadline = deadline_in_ms(PATIENCE_MS);
	struct rlimit before, none;
	char reply[REPLY_BYTES];
	int early = connect_client(), late = open_client();

	(void)state;
	send_get(early, "/slow?ms=0");
	read_until(early, "\r\n\r\nok", reply);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	connect_opened(late);
	send_get(late, "/slow?ms=0");
	/* Those who are connected are served meanwhile. */
	while (stats().accept_backoffs == 0 && deadline_remaining_ns(deadline) > 0) {
		send_get(early, "/stats");
		read_until(early, "}", reply);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_not_equal(stats().accept_backoffs, 0);
	read_until(late, "\r\n\r\nok", reply);
	close(late);
	close(early);
}

int main(void)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, start_endpoint, stop_endpoint)
	const struct CMUnitTest tests[] = {
		SERVED(answers_after_the_delay_and_not_before),
		SERVED(jitter_only_adds),
		SERVED(pipelined_requests_are_answered_in_order),
		SERVED(a_long_pipeline_is_answered_to_its_end),
		SERVED(a_request_may_come_byte_by_byte),
		SERVED(long_heads_fit_and_too_long_ones_are_refused),
		SERVED(bodies_of_requests_are_skipped),
		SERVED(a_client_that_expects_it_is_told_to_continue),
		SERVED(connections_close_as_asked),
		SERVED(a_large_body_waits_for_a_slow_reader),
		SERVED(a_chunked_body_has_the_length_asked),
		SERVED(statuses_without_a_body_keep_the_connection),
		SERVED(a_rate_is_shared_by_all_connections),
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
