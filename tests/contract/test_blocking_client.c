#include <stdio.h>
#include <string.h>

#include "clients/blocking_client.h"
#include "tests/contract/over_executor.h"
#include "tests/contract/raw_server.h"

/* The client that blocks its thread: what it makes of replies, and that it keeps to deadlines. */

#define LENGTH(n) "HTTP/1.1 200 OK\r\nContent-Length: " #n "\r\n\r\n"

static char long_head[8192];

static const struct raw_reply replies[] = {
	{.path = "/length", .bytes = LENGTH(5) "hello"},
	{.path = "/lower-case", .bytes = "HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nok"},
	{.path = "/empty", .bytes = LENGTH(0)},
	{.path = "/to-the-end",
         .bytes = "HTTP/1.0 503 Busy\r\n\r\nto the end",
         .ending = RAW_CLOSE},
	{.path = "/?a=b", .bytes = LENGTH(1) "1"},
	{.path = "/too-large", .bytes = LENGTH(101) "x"},
	{.path = "/half-a-head", .bytes = "HTTP/1.1 200 OK\r\nContent", .ending = RAW_CLOSE},
	{.path = "/half-a-body", .bytes = LENGTH(10) "12345", .ending = RAW_CLOSE},
	{.path = "/too-long", .bytes = LENGTH(2) "123", .ending = RAW_CLOSE},
	{.path = "/nothing", .ending = RAW_CLOSE},
	{.path = "/reset", .ending = RAW_RESET},
	{.path = "/garbage", .bytes = "no HTTP at all\r\n\r\n", .ending = RAW_CLOSE},
	{.path = "/bad-status", .bytes = "HTTP/1.1 2x0 OK\r\n\r\n", .ending = RAW_CLOSE},
	{.path = "/long-head", .bytes = long_head, .ending = RAW_CLOSE},
	{.path = "/silent"},
	{.path = NULL},
};

static struct raw_server *server;
static struct executor *executor;
static struct http_client *client;

static int setup(void **state)
{
	(void)state;
	memset(long_head, 'x', sizeof(long_head) - 1);
	memcpy(long_head, "HTTP/1.1 200 OK\r\nX: ", strlen("HTTP/1.1 200 OK\r\nX: "));
	server = raw_server_start(replies);
	executor = start_executor(100);
	return blocking_client_create(&client);
}

static int teardown(void **state)
{
	(void)state;
	executor_destroy(executor);
	http_client_destroy(client);
	raw_server_stop(server);
	return 0;
}

struct blocking_call {
	struct http_call call;
	int64_t timeout_ms;
};

static int make(void *arg)
{
	struct blocking_call *blocking = arg;

	return (int)http_call(client, &blocking->call, deadline_in_ms(blocking->timeout_ms));
}

static struct http_call call_url(const char *url, int64_t timeout_ms)
{
	struct blocking_call blocking = {
		.call = {.url = url, .max_reply_bytes = 100, .count_only = true},
		.timeout_ms = timeout_ms,
	};

	int failure = run_in_task(executor, make, &blocking);

	assert_int_equal(failure, blocking.call.failure);
	assert_int_equal(blocking.call.reason == NULL, blocking.call.failure == HTTP_OK);
	return blocking.call;
}

static struct http_call call_path(const char *path, int64_t timeout_ms)
{
	char url[100];
	int length = snprintf(url, sizeof(url), "http://127.0.0.1:%u%s",
	                      (unsigned)raw_server_port(server), path);

	assert_in_range(length, 1, sizeof(url) - 1);
	return call_url(url, timeout_ms);
}

static void whole_replies_are_counted(void **state)
{
	static const struct {
		const char *path;
		int status;
		size_t length;
	} whole[] = {
		{"/length", 200, 5},      {"/lower-case", 200, 2}, {"/empty", 200, 0},
		{"/to-the-end", 503, 10}, {"?a=b", 200, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		struct http_call call = call_path(whole[i].path, 10000);

		if (call.failure != HTTP_OK)
			fail_msg("%s: %s", whole[i].path, call.reason);
		assert_int_equal(call.status, whole[i].status);
		assert_int_equal(call.reply_len, whole[i].length);
	}
}

static void the_request_is_plain(void **state)
{
	char request[RAW_REQUEST_BYTES], expected[100];
	int length = snprintf(expected, sizeof(expected),
	                      "GET /length HTTP/1.0\r\nHost: 127.0.0.1:%u\r\n\r\n",
	                      (unsigned)raw_server_port(server));

	(void)state;
	assert_in_range(length, 1, sizeof(expected) - 1);
	assert_int_equal(call_path("/length#x", 10000).failure, HTTP_OK);
	raw_server_last_request(server, request);
	assert_string_equal(request, expected);
}

static void broken_replies_are_failures(void **state)
{
	static const struct {
		const char *path;
		enum http_failure failure;
	} broken[] = {
		{"/too-large", HTTP_TOO_LARGE}, {"/half-a-head", HTTP_RESET},
		{"/half-a-body", HTTP_RESET},   {"/too-long", HTTP_PROTOCOL},
		{"/nothing", HTTP_RESET},       {"/reset", HTTP_RESET},
		{"/garbage", HTTP_PROTOCOL},    {"/bad-status", HTTP_PROTOCOL},
		{"/long-head", HTTP_PROTOCOL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct http_call call = call_path(broken[i].path, 10000);

		if (call.failure != broken[i].failure)
			fail_msg("%s: %s", broken[i].path, http_failure_name(call.failure));
		assert_int_equal(call.status, 0);
	}
}

static void a_silent_server_is_left_at_the_deadline(void **state)
{
	struct http_call call = call_path("/silent", 50);

	(void)state;
	assert_int_equal(call.failure, HTTP_TIMEOUT);
	assert_in_range(call.elapsed_ns / 1000000, 50, 5000);
	assert_int_equal(call_path("/length", -1).failure, HTTP_TIMEOUT);
}

static void what_it_cannot_call_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(call_url("http://127.0.0.1:1/", 10000).failure, HTTP_CONNECT);
	assert_int_equal(call_url("http://[::1]:1/", 10000).failure, HTTP_CONNECT);
	assert_int_equal(call_url("http://localhost/", 10000).failure, HTTP_DNS);
	assert_int_equal(call_url("https://127.0.0.1/", 10000).failure, HTTP_TLS);
	assert_int_equal(call_url("ftp://127.0.0.1/", 10000).failure, HTTP_PROTOCOL);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(whole_replies_are_counted),
		CASE(the_request_is_plain),
		CASE(broken_replies_are_failures),
		CASE(a_silent_server_is_left_at_the_deadline),
		CASE(what_it_cannot_call_is_a_failure),
	};
#undef CASE

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
