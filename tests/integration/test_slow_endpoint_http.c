#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/integration/slow_endpoint_fixture.h"
#include "tests/with_cmocka.h"

/* How the slow endpoint speaks HTTP/1.1. */

static void pipelined_requests_are_answered_in_order(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_send(fd, "GET /slow?ms=30&status=201 HTTP/1.1\r\n\r\n"
	                "GET /slow?ms=0&status=202 HTTP/1.1\r\n\r\n"
	                "GET /nothing HTTP/1.1\r\n\r\n"
	                "GET /slow?ms=1&status=503 HTTP/1.1\r\nConnection: close\r\n\r\n");
	assert_true(client_read_to_end(fd, reply) > 0);
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
	int fd = client_connect();

	(void)state;
	assert_non_null(requests);
	requests[0] = '\0';
	for (size_t i = 0; i < COUNT; i++)
		memcpy(requests + i * (sizeof(request) - 1), request, sizeof(request));
	client_send(fd, requests);
	free(requests);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(client_read_reply(fd, reply), 2);
	close(fd);
	assert_int_equal(stats().total, COUNT);
}

static void a_request_may_come_byte_by_byte(void **state)
{
	static const char request[] = "GET /slow?ms=0 HTTP/1.1\r\nHost: a\r\n\r\n";
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	for (size_t i = 0; i < sizeof(request) - 1; i++)
		assert_int_equal(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
	client_read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void long_heads_fit_and_too_long_ones_are_refused(void **state)
{
	static char head[20000];
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	memset(head, 'x', sizeof(head) - 1);
	memcpy(head, "GET /slow?ms=0 HTTP/1.1\r\nA: ", 28);
	assert_int_equal(send(fd, head, 12000, MSG_NOSIGNAL), 12000);
	client_send(fd, "\r\n\r\n");
	client_read_until(fd, "\r\n\r\nok", reply);
	client_send(fd, head);
	assert_true(client_read_to_end(fd, reply) > 0);
	assert_starts_with(reply, "HTTP/1.1 431 ");
	close(fd);
}

static void bodies_of_requests_are_skipped(void **state)
{
	static char body[300001];
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	memset(body, 'x', sizeof(body) - 1);
	client_send(fd, "POST /stats/reset HTTP/1.1\r\nContent-Length: 300000\r\n\r\n");
	client_send(fd, body);
	client_get(fd, "/slow?ms=0&status=201");
	assert_int_not_equal(client_read_reply(fd, reply), 0);
	assert_starts_with(reply, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
	assert_int_equal(client_read_reply(fd, reply), 2);
	assert_starts_with(reply, "HTTP/1.1 201 ");
	close(fd);
}

static void bodies_to_echo_are_not(void **state)
{
	static char body[5001];
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	memset(body, 'x', sizeof(body) - 1);
	client_send(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5001\r\n\r\n");
	client_send(fd, body);
	client_send(fd, "yGET /slow?ms=0&status=201 HTTP/1.1\r\n\r\n");
	client_read_until(fd, "xy\"}", reply);
	assert_starts_with(reply, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
	assert_non_null(
		strstr(reply, "{\"method\":\"POST\",\"target\":\"/echo\",\"headers\":[[\"Host\","));
	assert_non_null(strstr(reply, body));
	assert_int_equal(client_read_reply(fd, reply), 2);
	assert_starts_with(reply, "HTTP/1.1 201 ");
	close(fd);
}

static void a_client_that_expects_it_is_told_to_continue(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_send(fd, "GET /slow?ms=0 HTTP/1.1\r\nExpect: 100-continue\r\n"
	                "Content-Length: 3\r\n\r\n");
	client_read_until(fd, "\r\n\r\n", reply);
	assert_string_equal(reply, "HTTP/1.1 100 Continue\r\n\r\n");
	client_send(fd, "abc");
	client_read_until(fd, "\r\n\r\nok", reply);
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
		int fd = client_connect();

		client_send(fd, requests[i]);
		assert_true(client_read_to_end(fd, reply) > 0);
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
	int fd = client_open();

	(void)state;
	for (size_t i = 0; i < sizeof(expected); i++)
		expected[i] = "ok"[i % 2];
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes)), 0);
	client_connect_opened(fd);
	client_get(fd, "/slow?ms=0&bytes=8388608");
	client_read_until(fd, "\r\n\r\n", reply);
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
	client_get(fd, "/slow?ms=0");
	client_read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void a_chunked_body_has_the_length_asked(void **state)
{
	char reply[REPLY_BYTES], data[4096];
	size_t total = 0, chunk;
	int fd = client_connect();

	(void)state;
	client_get(fd, "/slow?ms=0&bytes=200000&chunked=1");
	client_read_until(fd, "\r\n\r\n", reply);
	assert_non_null(strstr(reply, "Transfer-Encoding: chunked\r\n"));
	do {
		client_read_until(fd, "\r\n", reply);
		chunk = strtoul(reply, NULL, 16);
		total += chunk;
		for (size_t left = chunk + 2; left > 0;) {
			ssize_t got = recv(fd, data, left < sizeof(data) ? left : sizeof(data), 0);

			assert_true(got > 0);
			left -= (size_t)got;
		}
	} while (chunk > 0);
	assert_int_equal(total, 200000);
	client_get(fd, "/slow?ms=0");
	client_read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

static void statuses_without_a_body_keep_the_connection(void **state)
{
	char reply[REPLY_BYTES];
	int fd = client_connect();

	(void)state;
	client_get(fd, "/slow?ms=0&status=204");
	client_read_until(fd, "\r\n\r\n", reply);
	assert_string_equal(reply, "HTTP/1.1 204 No Content\r\n\r\n");
	client_get(fd, "/slow?ms=0&status=304&bytes=10");
	client_read_until(fd, "\r\n\r\n", reply);
	assert_string_equal(reply, "HTTP/1.1 304 Not Modified\r\n\r\n");
	client_get(fd, "/slow?ms=0");
	client_read_until(fd, "\r\n\r\nok", reply);
	close(fd);
}

int main(void)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, start_slow_endpoint, stop_slow_endpoint)
	const struct CMUnitTest tests[] = {
		SERVED(pipelined_requests_are_answered_in_order),
		SERVED(a_long_pipeline_is_answered_to_its_end),
		SERVED(a_request_may_come_byte_by_byte),
		SERVED(long_heads_fit_and_too_long_ones_are_refused),
		SERVED(bodies_of_requests_are_skipped),
		SERVED(bodies_to_echo_are_not),
		SERVED(a_client_that_expects_it_is_told_to_continue),
		SERVED(connections_close_as_asked),
		SERVED(a_large_body_waits_for_a_slow_reader),
		SERVED(a_chunked_body_has_the_length_asked),
		SERVED(statuses_without_a_body_keep_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
