#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/cancel.h"
#include "tests/contract/client_fixture.h"

/* How calls end that get no reply. */

enum { MOMENT_MS = 1500 }; /* "at once", on a machine that is busy with other tests */

static const struct raw_reply replies[] = {
	{.path = "/whole", .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
	{.path = "/hold"},
	{.path = "/hold-body", .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"},
	{.path = NULL},
};

static int setup(void **state)
{
	return client_setup(state, replies);
}

static struct http_call call_of(const char *url)
{
	return (struct http_call){.url = url, .max_reply_bytes = CLIENT_MAX_REPLY_BYTES};
}

static void assert_failure(const struct http_call *call, enum http_failure failure)
{
	assert_string_equal(http_failure_name(call->failure), http_failure_name(failure));
	assert_non_null(call->reason);
	assert_null(call->reply);
}

static void assert_made_no_connection(const struct client_fixture *fixture)
{
	struct raw_counts counts;

	raw_server_counts(fixture->server, &counts);
	assert_int_equal(counts.connections, 0);
}

static void gives_up_at_the_deadline(void **state)
{
	static const char *const paths[] = {"/hold", "/hold-body"};
	struct client_fixture *fixture = *state;

	for (int i = 0; i < 2; i++) {
		struct http_call call = call_of(url_of(fixture, paths[i]));

		(void)call_in_task(fixture, &call, 60);
		assert_failure(&call, HTTP_TIMEOUT);
		assert_in_range(call.elapsed_ns / 1000000, 60, MOMENT_MS);
		assert_true(raw_server_wait_open(fixture->server, 0));
	}
}

static void makes_no_call_after_the_deadline(void **state)
{
	struct client_fixture *fixture = *state;
	struct http_call call = call_of(url_of(fixture, "/whole"));

	(void)call_in_task(fixture, &call, 0);
	assert_failure(&call, HTTP_TIMEOUT);
	assert_made_no_connection(fixture);
}

struct cancelled_call {
	struct task task;
	struct http_client *client;
	struct http_call call;
	struct cancel cancel;
	struct countdown over;
};

static int cancelled_call_run(struct task *task)
{
	struct cancelled_call *self = (struct cancelled_call *)task;

	return (int)http_call(self->client, &self->call, DEADLINE_NEVER);
}

static void cancelled_call_done(struct task *task)
{
	countdown_arrive(&((struct cancelled_call *)task)->over);
}

static void start_cancellable(const struct client_fixture *fixture, struct cancelled_call *self,
                              const char *url)
{
	*self = (struct cancelled_call){
		.task = {.run = cancelled_call_run,
	                 .done = cancelled_call_done,
	                 .cancel = &self->cancel},
		.client = fixture->client,
		.call = call_of(url),
	};
	cancel_init(&self->cancel, NULL);
	countdown_init(&self->over, 1);
}

static void finish_cancelled(struct cancelled_call *self)
{
	countdown_wait(&self->over);
	countdown_finish(&self->over);
	cancel_finish(&self->cancel);
}

static void cancel_in_the_middle(void **state, const char *path, enum cancel_reason reason,
                                 enum http_failure failure)
{
	struct client_fixture *fixture = *state;
	struct cancelled_call cancelled;
	int64_t fired_ns;

	start_cancellable(fixture, &cancelled, url_of(fixture, path));
	assert_int_equal(executor_submit(fixture->executor, &cancelled.task), 0);
	assert_true(raw_server_wait_requests(fixture->server, 1));
	fired_ns = deadline_now_ns();
	cancel_fire(&cancelled.cancel, reason);
	finish_cancelled(&cancelled);
	assert_in_range((deadline_now_ns() - fired_ns) / 1000000, 0, MOMENT_MS);
	assert_failure(&cancelled.call, failure);
	assert_true(raw_server_wait_open(fixture->server, 0));
	assert_get_answers(fixture, "/whole", 200, "hello");
}

static void a_cancel_ends_the_call_and_its_connection(void **state)
{
	cancel_in_the_middle(state, "/hold", CANCEL_CLIENT_GONE, HTTP_CANCELED);
}

static void a_cancel_in_the_body_ends_the_call(void **state)
{
	cancel_in_the_middle(state, "/hold-body", CANCEL_SHUTDOWN, HTTP_CANCELED);
}

static void a_cancel_for_the_deadline_is_a_timeout(void **state)
{
	cancel_in_the_middle(state, "/hold", CANCEL_DEADLINE, HTTP_TIMEOUT);
}

static void a_cancelled_task_makes_no_call(void **state)
{
	struct client_fixture *fixture = *state;
	struct cancelled_call cancelled;

	start_cancellable(fixture, &cancelled, url_of(fixture, "/whole"));
	cancel_fire(&cancelled.cancel, CANCEL_SIBLING_DONE);
	assert_int_equal(executor_submit(fixture->executor, &cancelled.task), 0);
	finish_cancelled(&cancelled);
	assert_failure(&cancelled.call, HTTP_CANCELED);
	assert_made_no_connection(fixture);
}

/* Bound, so that nobody else gets the port; *@address says where. */
static int bound_socket(struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)address, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length), 0);
	return fd;
}

static struct http_call call_address(const struct client_fixture *fixture,
                                     const struct sockaddr_in *address)
{
	static char url[64];
	struct http_call call = call_of(url);
	int length = snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(address->sin_port));

	assert_in_range(length, 1, sizeof(url) - 1);
	(void)call_in_task(fixture, &call, 10000);
	return call;
}

static void a_refused_connection_is_a_connect_failure(void **state)
{
	struct sockaddr_in address;
	int fd = bound_socket(&address); /* and not listening */
	struct http_call call = call_address(*state, &address);

	assert_failure(&call, HTTP_CONNECT);
	assert_int_equal(close(fd), 0);
}

static void a_connection_that_takes_too_long_is_a_timeout(void **state)
{
	struct sockaddr_in address;
	int listener = bound_socket(&address), fillers[4];
	struct http_call call;

	/* With the accept queue full, the kernel drops what else arrives. */
	assert_int_equal(listen(listener, 0), 0);
	for (int i = 0; i < 4; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fillers[i], (struct sockaddr *)&address, sizeof(address));
	}
	call = call_address(*state, &address);
	assert_failure(&call, HTTP_TIMEOUT);
	assert_in_range(call.elapsed_ns / 1000000, CLIENT_CONNECT_TIMEOUT_MS - 1,
	                CLIENT_CONNECT_TIMEOUT_MS + MOMENT_MS);
	for (int i = 0; i < 4; i++)
		assert_int_equal(close(fillers[i]), 0);
	assert_int_equal(close(listener), 0);
}

static void want_of_file_descriptors_is_fd_limit(void **state)
{
	enum { LIMIT = 512 };
	struct client_fixture *fixture = *state;
	struct rlimit before, low;
	int used[LIMIT], count = 0, fd;
	struct http_call call = call_of(url_of(fixture, "/whole"));

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	while ((fd = fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0)
		used[count++] = fd;
	(void)call_in_task(fixture, &call, 5000);
	for (int i = 0; i < count; i++)
		(void)close(used[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);

	assert_failure(&call, HTTP_FD_LIMIT);
	assert_get_answers(fixture, "/whole", 200, "hello");
}

static void an_unknown_name_is_a_dns_failure(void **state)
{
	struct http_call call = call_of("http://does-not-exist.invalid/");

	(void)call_in_task(*state, &call, 20000);
	assert_failure(&call, HTTP_DNS);
}

static void a_name_is_looked_up(void **state)
{
	static const char *const names[] = {"localhost", "LocalHost", "localhost"};
	struct client_fixture *fixture = *state;
	struct http_call call;
	char url[64];

	for (int i = 0; i < 3; i++) {
		int length = snprintf(url, sizeof(url), "http://%s:%u/whole", names[i],
		                      (unsigned)raw_server_port(fixture->server));

		assert_in_range(length, 1, sizeof(url) - 1);
		call = call_of(url);
		(void)call_in_task(fixture, &call, 5000);
		assert_int_equal(call.failure, HTTP_OK);
		assert_string_equal(call.reply, "hello");
		http_call_finish(&call);
	}
}

/* The server is at the second; nobody listens at the first. */
static void find_two_addresses(const char *host, struct resolver_answer *answer)
{
	(void)host;
	*answer = (struct resolver_answer){.addresses = "127.0.0.2,127.0.0.1"};
}

static void the_next_address_is_tried_when_one_refuses(void **state)
{
	struct client_fixture own = *(struct client_fixture *)*state;
	char url[64];

	assert_in_range(snprintf(url, sizeof(url), "http://two.test:%u/whole",
	                         (unsigned)raw_server_port(own.server)),
	                1, sizeof(url) - 1);
	own.executor = start_executor(2);
	assert_int_equal(create_client(&(struct resolver_options){.look_up = find_two_addresses},
	                               &own.resolver, &own.client),
	                 0);
	for (int i = 0; i < 10; i++) {
		struct http_call call = call_of(url);

		call.method = "POST"; /* a new connection each */
		assert_int_equal(call_in_task(&own, &call, 5000), HTTP_OK);
		assert_string_equal(call.reply, "hello");
		http_call_finish(&call);
	}
	executor_destroy(own.executor);
	http_client_destroy(own.client);
	resolver_destroy(own.resolver);
}

static void a_malformed_url_is_a_protocol_error(void **state)
{
	static const char *const urls[] = {"",         "whole",          "ftp://127.0.0.1/",
	                                   "http://",  "http://[::1/",   "http://127.0.0.1:0/",
	                                   "http://:", "http://a b.de/", "http://127.0.0.1:99999/"};

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct http_call call = call_of(urls[i]);

		(void)call_in_task(*state, &call, 5000);
		assert_failure(&call, HTTP_PROTOCOL);
	}
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		CASE(gives_up_at_the_deadline),
		CASE(makes_no_call_after_the_deadline),
		CASE(a_cancel_ends_the_call_and_its_connection),
		CASE(a_cancel_in_the_body_ends_the_call),
		CASE(a_cancel_for_the_deadline_is_a_timeout),
		CASE(a_cancelled_task_makes_no_call),
		CASE(a_refused_connection_is_a_connect_failure),
		CASE(a_connection_that_takes_too_long_is_a_timeout),
		CASE(want_of_file_descriptors_is_fd_limit),
		CASE(an_unknown_name_is_a_dns_failure),
		CASE(a_name_is_looked_up),
		CASE(the_next_address_is_tried_when_one_refuses),
		CASE(a_malformed_url_is_a_protocol_error),
	};
#undef CASE

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
