/*
 * The front and its exchanges, with handlers that misbehave on purpose: real
 * sockets, a real executor, and no client or slow endpoint.
 */
#include "tests/integration/front_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "tests/with_cmocka.h"

enum { DEADLINE_MS = 100 };

/* What the handlers and the test tell each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool released;
static unsigned entered, left;
static enum cancel_reason reason;

static struct fronts_under_test test;

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
	const char *first = request_header(request, "X-A");

	(void)handler;
	response_json(response, 200,
	              json_pack("{s:s, s:s, s:s, s:s#, s:[s*, s*]}", "method", request->method,
	                        "path", request->path, "query", request->query, "body",
	                        request->body, (int)request->body_len, "x-a", first,
	                        request_header_next(request, "X-A", first)));
}

static struct handler handlers[] = {
	{.method = "GET", .path = "/stuck", .serve = serve_stuck},
	{.method = "GET", .path = "/patient", .serve = serve_patient},
	{.method = "GET", .path = "/silent", .serve = serve_silent},
	{.method = "POST", .path = "/echo me", .serve = serve_echo, .takes = "text/plain"},
};

static int set_up(void **state)
{
	struct executor_options options = {.threads = 1, .max_tasks = 100, .max_threads = 100};
	struct executor *executor;

	(void)state;
	released = false;
	entered = left = 0;
	reason = CANCEL_NONE;
	assert_int_equal(executor_create("thread", &options, &executor), 0);
	fronts_under_test_start(&test, executor, handlers, sizeof(handlers) / sizeof(handlers[0]),
	                        DEADLINE_MS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	release();
	fronts_under_test_stop(&test);
	return 0;
}

static void answers_504_when_a_handler_is_stuck_and_drops_its_late_answer(void **state)
{
	char reply[REPLY_BYTES];
	int64_t started_ns = deadline_now_ns();
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/stuck");
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 504 ", 13);
	assert_non_null(strstr(reply, "application/problem+json"));
	assert_true(deadline_now_ns() - started_ns >= (DEADLINE_MS + 500) * INT64_C(1000000));

	/* The next answer on the connection, and in the same struct of h2o's, is its own. */
	send_get(fd, "/nothing");
	release();
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 404 ", 13);
	await(&left, 1);
	send_get(fd, "/silent");
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 500 ", 13);
	close(fd);
}

static void cancels_the_task_of_a_client_that_is_gone(void **state)
{
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/patient");
	await(&entered, 1);
	close(fd);
	await(&left, 1);
	assert_int_equal(reason, CANCEL_CLIENT_GONE);
}

static void drops_the_answer_to_a_client_that_is_gone(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/stuck");
	await(&entered, 1);
	close(fd);
	release();
	await(&left, 1);
	fd = connected_to(&test);
	send_get(fd, "/silent");
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 500 ", 13);
	close(fd);
}

static void hands_the_request_over_decoded_and_with_its_body(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	send_text(fd, "POST /echo%20me?a=%20&b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
	              "Content-Type: Text/Plain; charset=utf-8\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello");
	read_until(fd, "}", reply);
	assert_non_null(strstr(reply, "{\"method\":\"POST\",\"path\":\"/echo me\","
	                              "\"query\":\"a=%20&b\",\"body\":\"hello\","
	                              "\"x-a\":[\"1\",\"2\"]}"));
	close(fd);
}

static void refuses_a_body_of_another_type_than_the_handler_takes(void **state)
{
	static const char *const types[] = {
		"",
		"Content-Type: text/html\r\n",
		"Content-Type: text/plain2\r\n",
		"Content-Type: text/plain\r\nContent-Encoding: gzip\r\n",
	};
	char request[256], reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_true(snprintf(request, sizeof(request),
		                     "POST /echo%%20me HTTP/1.1\r\nHost: x\r\n"
		                     "Content-Length: 1\r\n%s\r\na",
		                     types[i]) > 0);
		send_text(fd, request);
		read_until(fd, "}", reply);
		assert_memory_equal(reply, "HTTP/1.1 415 ", 13);
		assert_non_null(strstr(reply, "\r\nAccept: text/plain\r\n"));
	}
	close(fd);
}

static void lets_what_is_out_answer_with_what_it_has_when_canceled(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/patient");
	await(&entered, 1);
	fronts_advance(&test.fronts, FRONT_CANCELING);
	read_until(fd, "[\"partial\"]", reply);
	assert_non_null(strstr(reply, "Connection: close"));
	assert_int_equal(reason, CANCEL_SHUTDOWN);
	fronts_under_test_await_drained(&test);
	close(fd);
}

static void answers_503_in_place_of_a_stuck_handler_when_abandoning(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/stuck");
	await(&entered, 1);
	fronts_advance(&test.fronts, FRONT_ABANDONING);
	read_until(fd, "}", reply);
	assert_memory_equal(reply, "HTTP/1.1 503 ", 13);
	assert_false(fronts_are_drained(&test.fronts));
	release();
	fronts_under_test_await_drained(&test);
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
			refuses_a_body_of_another_type_than_the_handler_takes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			lets_what_is_out_answer_with_what_it_has_when_canceled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			answers_503_in_place_of_a_stuck_handler_when_abandoning, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
