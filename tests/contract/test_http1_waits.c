#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/contract/client_fixture.h"
#include "tests/contract/silent_listener.h"

/* Calls of the http1 client that are ended while they connect or send. */

enum {
	MOMENT_MS = 1500,      /* "at once", on a machine that is busy with other tests */
	BODY_BYTES = 32 << 20, /* more than socket buffers take */
};

static const struct raw_reply no_replies[] = {{.path = NULL}};

static int setup(void **state)
{
	return client_setup(state, no_replies);
}

/* The URL of a listener, in a static buffer. */
static const char *url_at(const struct silent_listener *listener)
{
	static char url[64];

	assert_in_range(
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/", (unsigned)listener->port), 1,
		sizeof(url) - 1);
	return url;
}

struct cancelled {
	struct task task;
	struct http_client *client;
	struct http_call call;
	struct cancel cancel;
	struct countdown over;
};

static int cancelled_run(struct task *task)
{
	struct cancelled *self = (struct cancelled *)task;

	return (int)http_call(self->client, &self->call, DEADLINE_NEVER);
}

static void cancelled_done(struct task *task)
{
	countdown_arrive(&((struct cancelled *)task)->over);
}

static struct http_call call_with_body(const char *url, const void *body)
{
	return (struct http_call){
		.method = body ? "PUT" : "GET",
		.url = url,
		.body = body,
		.body_len = body ? BODY_BYTES : 0,
		.max_reply_bytes = CLIENT_MAX_REPLY_BYTES,
	};
}

/* Cancel a call once this process has @fds descriptors open, the call's among them. */
static void cancel_in_the_middle(const struct client_fixture *fixture, const char *url,
                                 const void *body, unsigned fds)
{
	struct cancelled self = {
		.task = {.run = cancelled_run, .done = cancelled_done, .cancel = &self.cancel},
		.client = fixture->client,
		.call = call_with_body(url, body),
	};
	int64_t fired_ns;

	cancel_init(&self.cancel, NULL);
	countdown_init(&self.over, 1);
	assert_int_equal(executor_submit(fixture->executor, &self.task), 0);
	while (count_fds() < fds)
		(void)sched_yield();
	fired_ns = deadline_now_ns();
	cancel_fire(&self.cancel, CANCEL_CLIENT_GONE);
	countdown_wait(&self.over);
	assert_in_range((deadline_now_ns() - fired_ns) / 1000000, 0, MOMENT_MS);
	assert_string_equal(http_failure_name(self.call.failure), "canceled");
	countdown_finish(&self.over);
	cancel_finish(&self.cancel);
}

static void a_cancel_while_connecting_ends_the_call_and_closes_the_socket(void **state)
{
	struct silent_listener listener;
	unsigned fds;

	silent_listener_open(&listener, "127.0.0.1", 0, true);
	fds = count_fds();
	cancel_in_the_middle(*state, url_at(&listener), NULL, fds + 1);
	assert_in_range(count_fds(), fds, fds + 1); /* an eventfd, to cancel threads by */
	silent_listener_close(&listener);
}

static void a_cancel_while_sending_ends_the_call_and_closes_the_socket(void **state)
{
	char *body = calloc(1, BODY_BYTES);
	struct silent_listener listener;
	unsigned fds;

	assert_non_null(body);
	silent_listener_open(&listener, "127.0.0.1", 0, false);
	fds = count_fds();
	cancel_in_the_middle(*state, url_at(&listener), body, fds + 1);
	assert_in_range(count_fds(), fds, fds + 1);
	silent_listener_close(&listener);
	free(body);
}

static void the_deadline_ends_a_call_that_cannot_send(void **state)
{
	char *body = calloc(1, BODY_BYTES);
	struct http_call call;
	struct silent_listener listener;

	assert_non_null(body);
	silent_listener_open(&listener, "127.0.0.1", 0, false);
	call = call_with_body(url_at(&listener), body);
	(void)call_in_task(*state, &call, 100);
	assert_string_equal(http_failure_name(call.failure), "timeout");
	assert_in_range(call.elapsed_ns / 1000000, 100, MOMENT_MS);
	silent_listener_close(&listener);
	free(body);
}

struct early_server {
	struct silent_listener listener;
	const char *reply;
	const char *second_reply; /* when it has read all; NULL: it reads no further */
	bool closes;
	pthread_t thread;
	struct countdown called; /* the call has ended */
};

static void send_text(int fd, const char *text)
{
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Answers when it has seen the beginning of a request. */
static void *answer_early(void *arg)
{
	struct early_server *server = arg;
	int fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	char buffer[65536];
	size_t left = BODY_BYTES;
	ssize_t got = recv(fd, buffer, 1, 0);

	send_text(fd, server->reply);
	if (server->closes)
		(void)shutdown(fd, SHUT_WR);
	while (server->second_reply && got > 0 && left > 0) {
		got = recv(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), 0);
		left -= got > 0 ? (size_t)got : 0;
	}
	if (server->second_reply)
		send_text(fd, server->second_reply);
	countdown_wait(&server->called);
	(void)close(fd);
	return NULL;
}

static void call_early_server(const struct client_fixture *fixture, const char *reply,
                              const char *second_reply, bool closes, struct http_call *call)
{
	struct early_server server = {
		.reply = reply,
		.second_reply = second_reply,
		.closes = closes,
	};
	char *body = calloc(1, BODY_BYTES);

	assert_non_null(body);
	silent_listener_open(&server.listener, "127.0.0.1", 0, false);
	countdown_init(&server.called, 1);
	assert_int_equal(pthread_create(&server.thread, NULL, answer_early, &server), 0);
	*call = call_with_body(url_at(&server.listener), body);
	(void)call_in_task(fixture, call, 10000);
	countdown_arrive(&server.called);
	assert_int_equal(pthread_join(server.thread, NULL), 0);
	countdown_finish(&server.called);
	silent_listener_close(&server.listener);
	free(body);
}

static void an_early_answer_counts_though_the_request_is_not_sent(void **state)
{
	struct http_call call;

	for (int closes = 0; closes < 2; closes++) {
		call_early_server(*state, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno",
		                  NULL, closes, &call);
		assert_string_equal(http_failure_name(call.failure), "ok");
		assert_int_equal(call.status, 413);
		assert_string_equal(call.reply, "no");
		http_call_finish(&call);
	}
}

static void an_early_answer_counts_after_interim_ones(void **state)
{
	struct http_call call;

	call_early_server(
		*state,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
		"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno",
		NULL, false, &call);
	assert_string_equal(http_failure_name(call.failure), "ok");
	assert_int_equal(call.status, 413);
	assert_string_equal(call.reply, "no");
	http_call_finish(&call);
}

static void an_interim_answer_does_not_keep_the_rest_from_being_sent(void **state)
{
	struct http_call call;

	call_early_server(*state, "HTTP/1.1 100 Continue\r\n\r\n",
	                  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
	                  false, &call);
	assert_string_equal(http_failure_name(call.failure), "ok");
	assert_string_equal(call.reply, "ok");
	http_call_finish(&call);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		CASE(a_cancel_while_connecting_ends_the_call_and_closes_the_socket),
		CASE(a_cancel_while_sending_ends_the_call_and_closes_the_socket),
		CASE(the_deadline_ends_a_call_that_cannot_send),
		CASE(an_early_answer_counts_though_the_request_is_not_sent),
		CASE(an_early_answer_counts_after_interim_ones),
		CASE(an_interim_answer_does_not_keep_the_rest_from_being_sent),
	};
#undef CASE

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
