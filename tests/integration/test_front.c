/*
 * The front and its exchanges, with handlers that misbehave on purpose: real
 * sockets, a real executor, and no client or slow endpoint.
 */
#include "server/fronts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "server/listener.h"
#include "tests/with_cmocka.h"

enum { DEADLINE_MS = 100, PATIENCE_MS = 20000, REPLY_BYTES = 4096 };

/* What the handlers and the test tell each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool released;
static unsigned entered, left;
static enum cancel_reason reason;

static struct executor_set executors;
static struct rejections rejections;
static struct site site;
static struct fronts fronts;
static uint16_t port;

static void count(unsigned *counter)
{
	pthread_mutex_lock(&lock);
	(*counter)++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void await(const unsigned *counter, unsigned wanted)
{
	pthread_mutex_lock(&lock);
	while (*counter < wanted)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void release(void)
{
	pthread_mutex_lock(&lock);
	released = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Heeds neither deadline nor cancellation. */
static void serve_stuck(struct handler *handler, const struct request *request,
                        struct response *response)
{
	(void)handler;
	(void)request;
	count(&entered);
	pthread_mutex_lock(&lock);
	while (!released)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	response_json(response, 200, json_pack("[s]", "late"));
	count(&left);
}

/* Waits for its cancellation, and tells the reason. */
static void serve_patient(struct handler *handler, const struct request *request,
                          struct response *response)
{
	(void)handler;
	(void)request;
	count(&entered);
	while (task_park(DEADLINE_NEVER) != -ECANCELED)
		continue;
	reason = task_cancel_reason();
	response_json(response, 200, json_pack("[s]", "partial"));
	count(&left);
}

static void serve_silent(struct handler *handler, const struct request *request,
                         struct response *response)
{
	(void)handler;
	(void)request;
	(void)response;
}

/* Answers with what it was given. */
static void serve_echo(struct handler *handler, const struct request *request,
                       struct response *response)
{
	(void)handler;
	response_json(response, 200,
	              json_pack("{s:s, s:s, s:s, s:s#}", "method", request->method, "path",
	                        request->path, "query", request->query, "body", request->body,
	                        (int)request->body_len));
}

static struct handler handlers[] = {
	{.method = "GET", .path = "/stuck", .serve = serve_stuck},
	{.method = "GET", .path = "/patient", .serve = serve_patient},
	{.method = "GET", .path = "/silent", .serve = serve_silent},
	{.method = "POST", .path = "/echo me", .serve = serve_echo},
};

static int set_up(void **state)
{
	struct executor_options options = {.threads = 1, .max_tasks = 100, .max_threads = 100};
	struct fronts_options front_options = {
		.count = 2,
		.admin_fd = -1,
		.site = &site,
		.exchanges = {.deadline_ms = DEADLINE_MS,
	                      .max_tasks = 100,
	                      .executors = &executors,
	                      .rejections = &rejections},
		.rejections = &rejections,
	};

	(void)state;
	released = false;
	entered = left = 0;
	reason = CANCEL_NONE;
	memset(&site, 0, sizeof(site));
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		site_add(&site, &handlers[i], false, false);
	assert_int_equal(executor_create("thread", &options, &executors.executors[0]), 0);
	executors.count = 1;
	executors.preferred = executors.executors[0];
	front_options.listen_fd = listener_open("127.0.0.1", 0, 16, &port);
	assert_true(front_options.listen_fd >= 0);
	return fronts_start(&fronts, &front_options);
}

static void await_drained(void)
{
	struct pollfd news = {.fd = fronts.drained_fd, .events = POLLIN};
	struct deadline deadline = deadline_in_ms(PATIENCE_MS);

	while (!fronts_are_drained(&fronts)) {
		assert_int_not_equal(deadline_remaining_ns(deadline), 0);
		poll(&news, 1, deadline_remaining_ms(deadline));
	}
}

static int tear_down(void **state)
{
	(void)state;
	release();
	if (fronts.fronts) {
		fronts_advance(&fronts, FRONT_ABANDONING);
		await_drained();
	}
	executor_set_destroy(&executors);
	fronts_stop(&fronts);
	return 0;
}

static int connected(void)
{
	struct timeval timeout = {.tv_sec = PATIENCE_MS / 1000};
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void get(int fd, const char *path)
{
	char request[256];

	assert_true(snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path) >
	            0);
	send_text(fd, request);
}

/* Read until what has come ends with @end. */
static void read_until(int fd, const char *end, char reply[REPLY_BYTES])
{
	size_t length = 0;

	do {
		ssize_t bytes = read(fd, reply + length, REPLY_BYTES - 1 - length);

		assert_true(bytes > 0);
		length += (size_t)bytes;
		reply[length] = '\0';
	} while (length < strlen(end) || strcmp(reply + length - strlen(end), end) != 0);
}

static void answers_504_when_a_handler_is_stuck_and_drops_its_late_answer(void **state)
{
	char reply[REPLY_BYTES];
	int64_t started_ns = deadline_now_ns();
	int fd = connected();

	(void)state;
	get(fd, "/stuck");
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 504 ", 13);
	assert_non_null(strstr(reply, "application/problem+json"));
	assert_true(deadline_now_ns() - started_ns >= (DEADLINE_MS + 500) * INT64_C(1000000));

	/* The next answer on the connection, and in the same struct of h2o's, is its own. */
	get(fd, "/nothing");
	release();
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 404 ", 13);
	await(&left, 1);
	get(fd, "/silent");
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 500 ", 13);
	close(fd);
}

static void cancels_the_task_of_a_client_that_is_gone(void **state)
{
	int fd = connected();

	(void)state;
	get(fd, "/patient");
	await(&entered, 1);
	close(fd);
	await(&left, 1);
	assert_int_equal(reason, CANCEL_CLIENT_GONE);
}

static void drops_the_answer_to_a_client_that_is_gone(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected();

	(void)state;
	get(fd, "/stuck");
	await(&entered, 1);
	close(fd);
	release();
	await(&left, 1);
	fd = connected();
	get(fd, "/silent");
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 500 ", 13);
	close(fd);
}

static void hands_the_request_over_decoded_and_with_its_body(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected();

	(void)state;
	send_text(fd,
	          "POST /echo%20me?a=%20&b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
	read_until(fd, "}", reply);
	assert_non_null(strstr(reply, "{\"method\":\"POST\",\"path\":\"/echo me\","
	                              "\"query\":\"a=%20&b\",\"body\":\"hello\"}"));
	close(fd);
}

static void lets_what_is_out_answer_with_what_it_has_when_canceled(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected();

	(void)state;
	get(fd, "/patient");
	await(&entered, 1);
	fronts_advance(&fronts, FRONT_CANCELING);
	read_until(fd, "[\"partial\"]", reply);
	assert_non_null(strstr(reply, "Connection: close"));
	assert_int_equal(reason, CANCEL_SHUTDOWN);
	await_drained();
	close(fd);
}

static void answers_503_in_place_of_a_stuck_handler_when_abandoning(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected();

	(void)state;
	get(fd, "/stuck");
	await(&entered, 1);
	fronts_advance(&fronts, FRONT_ABANDONING);
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 503 ", 13);
	assert_false(fronts_are_drained(&fronts));
	release();
	await_drained();
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			answers_504_when_a_handler_is_stuck_and_drops_its_late_answer, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(cancels_the_task_of_a_client_that_is_gone, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(drops_the_answer_to_a_client_that_is_gone, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(hands_the_request_over_decoded_and_with_its_body,
	                                        set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			lets_what_is_out_answer_with_what_it_has_when_canceled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			answers_503_in_place_of_a_stuck_handler_when_abandoning, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
