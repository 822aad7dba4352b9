/*
 * Answers whose body is sent while it is written: real fronts and sockets, over
 * every executor.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/latch.h"
#include "executors/task_context.h"
#include "handlers/request_context.h"
#include "tests/contract/over_executor.h"
#include "tests/integration/front_fixture.h"

enum {
	DEADLINE_MS = 30,
	LINE_BYTES = 16,
	PIECE_BYTES = 16 * 1024,
	BIG_BYTES = 3 * 1024 * 1024,
	AT_ONCE = 8
};

static struct fronts_under_test test;
static struct latch go;           /* what some handlers wait for */
static struct countdown over;     /* handlers that have returned */
static int64_t patience_ms;       /* of each write of /flood; 0: any */
static int result;                /* of a handler's last write */
static atomic_uint failures;      /* of writes of /big, of which several may be served */
static size_t written;            /* bytes, by /flood */
static enum cancel_reason reason; /* at its end */
static char contexts[2][TRACEPARENT_BYTES];

static int write_text(struct response *response, const char *text)
{
	return response_stream_write(response, text, strlen(text), DEADLINE_NEVER);
}

/* Two lines, the second once the test says so. */
static void serve_two(struct handler *handler, const struct request *request,
                      struct response *response)
{
	(void)handler;
	(void)request;
	(void)response_stream_begin(response, 200, "text/plain");
	(void)write_text(response, "one\n");
	(void)latch_wait(&go, DEADLINE_NEVER);
	result = write_text(response, "two\n");
	countdown_arrive(&over);
}

static void serve_empty(struct handler *handler, const struct request *request,
                        struct response *response)
{
	(void)handler;
	(void)request;
	response_add_header(response, "Cache-Control", "no-store");
	(void)response_stream_begin(response, 200, "text/plain");
	countdown_arrive(&over);
}

static void serve_broken(struct handler *handler, const struct request *request,
                         struct response *response)
{
	(void)handler;
	(void)request;
	(void)response_stream_begin(response, 200, "text/plain");
	(void)write_text(response, "one\n");
	response_stream_fail(response, -EIO);
	countdown_arrive(&over);
}

static void fill(char *bytes, size_t count, size_t from)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (char)('a' + (from + i) % 23);
}

/* Writes of all sizes, one of them much longer than what is kept for a client. */
static void serve_big(struct handler *handler, const struct request *request,
                      struct response *response)
{
	char *bytes = malloc(BIG_BYTES);
	size_t sent = 0, next = 1;

	(void)handler;
	(void)request;
	fill(bytes, BIG_BYTES, 0);
	(void)response_stream_begin(response, 200, "text/plain");
	while (sent < BIG_BYTES) {
		size_t count = next < BIG_BYTES - sent ? next : BIG_BYTES - sent;

		if (response_stream_write(response, bytes + sent, count, DEADLINE_NEVER) != 0)
			atomic_fetch_add(&failures, 1);
		sent += count;
		next = next < 1024 * 1024 ? next * 2 + 1 : 1;
	}
	free(bytes);
	countdown_arrive(&over);
}

/* Writes until that fails. */
static void serve_flood(struct handler *handler, const struct request *request,
                        struct response *response)
{
	char *piece = calloc(1, PIECE_BYTES);

	(void)handler;
	(void)request;
	written = 0;
	(void)response_stream_begin(response, 200, "text/plain");
	do {
		struct deadline deadline =
			patience_ms > 0 ? deadline_in_ms(patience_ms) : DEADLINE_NEVER;

		result = response_stream_write(response, piece, PIECE_BYTES, deadline);
		written += result == 0 ? PIECE_BYTES : 0;
	} while (result == 0);
	reason = task_cancel_reason();
	free(piece);
	countdown_arrive(&over);
}

/* Heeds neither deadline nor cancellation. */
static void serve_stuck(struct handler *handler, const struct request *request,
                        struct response *response)
{
	(void)handler;
	(void)request;
	(void)response_stream_begin(response, 200, "text/plain");
	(void)write_text(response, "one\n");
	(void)latch_wait_masked(&go, DEADLINE_NEVER);
	result = write_text(response, "too late\n");
	reason = task_cancel_reason();
	countdown_arrive(&over);
}

/* Has last words when it is cancelled. */
static void serve_patient(struct handler *handler, const struct request *request,
                          struct response *response)
{
	(void)handler;
	(void)request;
	(void)response_stream_begin(response, 200, "text/plain");
	(void)write_text(response, "one\n");
	while (task_park(DEADLINE_NEVER) != -ECANCELED)
		continue;
	reason = task_cancel_reason();
	result = write_text(response, "last words\n");
	countdown_arrive(&over);
}

static void serve_context(struct handler *handler, const struct request *request,
                          struct response *response)
{
	const struct request_context *context = request_context_current();
	struct request_context_call call = {0};

	(void)handler;
	(void)request;
	if (context) {
		request_context_traceparent(context, contexts[0]);
		request_context_call(context, 0, &call);
		memcpy(contexts[1], call.traceparent, sizeof(contexts[1]));
	}
	response_json(response, 200, json_pack("[s]", context ? context->request_id : ""));
	countdown_arrive(&over);
}

static struct handler handlers[] = {
	{.method = "GET", .path = "/two", .serve = serve_two},
	{.method = "GET", .path = "/empty", .serve = serve_empty},
	{.method = "GET", .path = "/broken", .serve = serve_broken},
	{.method = "GET", .path = "/big", .serve = serve_big},
	{.method = "GET", .path = "/flood", .serve = serve_flood},
	{.method = "GET", .path = "/stuck", .serve = serve_stuck},
	{.method = "GET", .path = "/patient", .serve = serve_patient},
	{.method = "GET", .path = "/context", .serve = serve_context},
};

static void start(int64_t deadline_ms)
{
	latch_init(&go, 1);
	countdown_init(&over, 1);
	patience_ms = 0;
	result = 1;
	atomic_store(&failures, 0);
	written = 0;
	reason = CANCEL_NONE;
	fronts_under_test_start(&test, start_executor(16), handlers,
	                        sizeof(handlers) / sizeof(handlers[0]), deadline_ms);
}

static int set_up(void **state)
{
	(void)state;
	start(PATIENCE_MS);
	return 0;
}

static int set_up_with_deadline(void **state)
{
	(void)state;
	start(DEADLINE_MS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fronts_under_test_stop(&test);
	latch_finish(&go);
	countdown_finish(&over);
	return 0;
}

/* The body of a chunked @reply, in place, with its length in *@length, or SIZE_MAX if its end is
 * missing. */
static char *chunked_body(char *reply, size_t *length)
{
	char *body = strstr(reply, "\r\n\r\n"), *end, *place;
	unsigned long bytes;

	assert_non_null(body);
	assert_non_null(strstr(reply, "\r\ntransfer-encoding: chunked\r\n"));
	place = body += 4;
	*length = 0;
	do {
		bytes = strtoul(place, &end, 16);
		if (end == place || strncmp(end, "\r\n", 2) != 0 ||
		    strnlen(end + 2, bytes + 2) < bytes + 2) {
			*length = SIZE_MAX;
			return body;
		}
		memmove(body + *length, end + 2, bytes);
		*length += bytes;
		place = end + 2 + bytes + 2;
	} while (bytes > 0);
	return body;
}

static void sends_what_is_written_while_the_handler_goes_on(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/two");
	read_until(fd, "\r\n4\r\none\n\r\n", reply);
	assert_memory_equal(reply, "HTTP/1.1 200 OK\r\n", 17);
	assert_non_null(strstr(reply, "\r\nConnection: keep-alive\r\n"));
	assert_non_null(strstr(reply, "\r\ntransfer-encoding: chunked\r\n"));
	assert_non_null(strstr(reply, "\r\ncontent-type: text/plain\r\n"));
	assert_non_null(strstr(reply, "\r\nX-Request-Id: "));
	assert_null(strcasestr(reply, "\r\ncontent-length: "));
	latch_arrive(&go);
	read_until(fd, "0\r\n\r\n", reply);
	countdown_wait(&over);
	/* The end may come with the last line, or alone. */
	assert_memory_equal(reply, "4\r\ntwo\n\r\n", 9);

	/* The connection is as good as new. */
	countdown_init(&over, 1);
	send_get(fd, "/empty");
	read_until(fd, "\r\n\r\n0\r\n\r\n", reply);
	assert_non_null(strstr(reply, "\r\nCache-Control: no-store\r\n"));
	countdown_wait(&over);
	close(fd);
}

static void ask_for_a_big_body(int fd)
{
	send_text(fd, "GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

static void expect_a_big_body(int fd)
{
	char *expected = malloc(BIG_BYTES), *reply, *body;
	size_t length;
	int error;

	assert_non_null(expected);
	fill(expected, BIG_BYTES, 0);
	reply = read_to_end(fd, &length, &error);
	body = chunked_body(reply, &length);
	assert_int_equal(length, BIG_BYTES);
	assert_memory_equal(body, expected, BIG_BYTES);
	free(expected);
	free(reply);
	close(fd);
}

static void sends_a_body_of_any_size_as_it_was_written(void **state)
{
	int fd = connected_to(&test);

	(void)state;
	ask_for_a_big_body(fd);
	expect_a_big_body(fd);
	countdown_wait(&over);
	assert_int_equal(atomic_load(&failures), 0);
}

static void keeps_bodies_that_are_written_at_once_apart(void **state)
{
	int fds[AT_ONCE];

	(void)state;
	countdown_init(&over, AT_ONCE);
	for (size_t i = 0; i < AT_ONCE; i++) {
		fds[i] = connected_to(&test);
		ask_for_a_big_body(fds[i]);
	}
	/* Those that are not read yet have their writers wait. */
	for (size_t i = 0; i < AT_ONCE; i++)
		expect_a_big_body(fds[i]);
	countdown_wait(&over);
	assert_int_equal(atomic_load(&failures), 0);
}

static void ends_a_body_for_http_1_0_with_the_connection(void **state)
{
	size_t length;
	int fd = connected_to(&test), error;
	char *reply;

	(void)state;
	latch_arrive(&go);
	send_text(fd, "GET /two HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	reply = read_to_end(fd, &length, &error);
	countdown_wait(&over);
	assert_int_equal(error, 0);
	assert_non_null(strstr(reply, "\r\nConnection: close\r\n"));
	assert_null(strstr(reply, "chunked"));
	assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\none\ntwo\n");
	free(reply);
	close(fd);
}

static void cuts_a_body_that_is_not_whole_so_that_it_shows(void **state)
{
	size_t length;
	int fd = connected_to(&test), error;
	char *reply, *body;

	(void)state;
	send_get(fd, "/broken");
	reply = read_to_end(fd, &length, &error);
	countdown_wait(&over);
	body = chunked_body(reply, &length);
	assert_true(length == SIZE_MAX);
	assert_memory_equal(body, "one\n", 4);
	free(reply);
	close(fd);

	countdown_init(&over, 1);
	fd = connected_to(&test);
	send_text(fd, "GET /broken HTTP/1.0\r\n\r\n");
	free(read_to_end(fd, &length, &error));
	countdown_wait(&over);
	assert_int_equal(error, ECONNRESET);
	close(fd);
}

static int slow_connection(void)
{
	const int bytes = 64 * 1024;
	int fd = connected_to(&test);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
	return fd;
}

static void holds_up_the_writer_for_a_reader_that_does_not_read(void **state)
{
	int fd = slow_connection(), other = connected_to(&test), error;
	char reply[REPLY_BYTES];
	size_t length;
	char *got;

	(void)state;
	patience_ms = 200;
	send_get(fd, "/flood");
	/* Nobody else waits. */
	send_get(other, "/nothing");
	read_until(other, "}", reply);
	countdown_wait(&over);
	assert_int_equal(result, -ETIMEDOUT);
	assert_int_equal(reason, CANCEL_NONE);
	/* 64 KiB and one write here, and what the kernel takes on both sides. */
	assert_in_range(written, 64 * 1024, 8 * 1024 * 1024);

	/* All that was written can still be read, and then it shows that it is not all. */
	got = read_to_end(fd, &length, &error);
	(void)chunked_body(got, &length);
	assert_true(length == SIZE_MAX);
	free(got);
	close(fd);
	close(other);
}

static void ends_the_writing_when_the_client_goes(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/flood");
	assert_true(read(fd, reply, sizeof(reply)) > 0);
	close(fd);
	countdown_wait(&over);
	assert_int_equal(result, -ECANCELED);
	assert_int_equal(reason, CANCEL_CLIENT_GONE);
}

static void cancels_a_handler_that_waits_when_the_client_goes(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test);

	(void)state;
	send_get(fd, "/patient");
	read_until(fd, "one\n\r\n", reply);
	close(fd);
	countdown_wait(&over);
	assert_int_equal(reason, CANCEL_CLIENT_GONE);
}

static void cuts_the_body_of_a_handler_that_goes_on_after_its_deadline(void **state)
{
	size_t length;
	int fd = connected_to(&test), error;
	char *reply;

	(void)state;
	send_get(fd, "/stuck");
	reply = read_to_end(fd, &length, &error);
	(void)chunked_body(reply, &length);
	assert_true(length == SIZE_MAX);
	free(reply);
	latch_arrive(&go);
	countdown_wait(&over);
	assert_int_equal(result, -ECANCELED);
	assert_int_equal(reason, CANCEL_DEADLINE);
	close(fd);
}

static void frees_a_writer_that_waits_for_room_after_its_deadline(void **state)
{
	int fd = slow_connection();

	(void)state;
	send_get(fd, "/flood");
	countdown_wait(&over);
	assert_int_equal(result, -ECANCELED);
	assert_int_equal(reason, CANCEL_DEADLINE);
	close(fd);
}

static void lets_a_body_end_in_a_drain(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test), error;
	size_t length;
	char *rest;

	(void)state;
	send_get(fd, "/two");
	read_until(fd, "one\n\r\n", reply);
	fronts_advance(&test.fronts, FRONT_DRAINING);
	latch_arrive(&go);
	rest = read_to_end(fd, &length, &error);
	assert_string_equal(rest, "4\r\ntwo\n\r\n0\r\n\r\n");
	countdown_wait(&over);
	fronts_under_test_await_drained(&test);
	free(rest);
	close(fd);
}

static void lets_a_handler_say_last_words_when_a_shutdown_cancels_it(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test), error;
	size_t length;
	char *rest;

	(void)state;
	send_get(fd, "/patient");
	read_until(fd, "one\n\r\n", reply);
	fronts_advance(&test.fronts, FRONT_CANCELING);
	rest = read_to_end(fd, &length, &error);
	assert_string_equal(rest, "b\r\nlast words\n\r\n0\r\n\r\n");
	countdown_wait(&over);
	assert_int_equal(result, 0);
	assert_int_equal(reason, CANCEL_SHUTDOWN);
	fronts_under_test_await_drained(&test);
	free(rest);
	close(fd);
}

static void cuts_the_body_of_a_stuck_handler_at_the_end_of_a_shutdown(void **state)
{
	char reply[REPLY_BYTES];
	int fd = connected_to(&test), error;
	size_t length;

	(void)state;
	send_get(fd, "/stuck");
	read_until(fd, "one\n\r\n", reply);
	fronts_advance(&test.fronts, FRONT_ABANDONING);
	free(read_to_end(fd, &length, &error));
	assert_false(fronts_are_drained(&test.fronts));
	latch_arrive(&go);
	countdown_wait(&over);
	assert_int_equal(result, -ECANCELED);
	fronts_under_test_await_drained(&test);
	close(fd);
}

static void tells_the_handler_and_the_client_which_request_it_is(void **state)
{
	char reply[REPLY_BYTES], expected[128];
	int fd = connected_to(&test);

	(void)state;
	send_text(fd,
	          "GET /context HTTP/1.1\r\nHost: x\r\nx-request-id: abc-1\r\n"
	          "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n");
	read_until(fd, "\"]", reply);
	countdown_wait(&over);
	assert_non_null(strstr(reply, "[\"abc-1\"]"));
	assert_non_null(strstr(reply, "\r\nX-Request-Id: abc-1\r\n"));
	assert_memory_equal(contexts[0], "00-0af7651916cd43dd8448eb211c80319c-", 36);
	assert_memory_equal(contexts[1], "00-0af7651916cd43dd8448eb211c80319c-", 36);
	assert_string_not_equal(contexts[0], contexts[1]);
	assert_true(snprintf(expected, sizeof(expected), "\r\ntraceparent: %s\r\n", contexts[0]) >
	            0);
	assert_non_null(strstr(reply, expected));
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define CASE_WITH_DEADLINE(name)                                                                   \
	cmocka_unit_test_setup_teardown(name, set_up_with_deadline, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(sends_what_is_written_while_the_handler_goes_on),
		CASE(sends_a_body_of_any_size_as_it_was_written),
		CASE(keeps_bodies_that_are_written_at_once_apart),
		CASE(ends_a_body_for_http_1_0_with_the_connection),
		CASE(cuts_a_body_that_is_not_whole_so_that_it_shows),
		CASE(holds_up_the_writer_for_a_reader_that_does_not_read),
		CASE(ends_the_writing_when_the_client_goes),
		CASE(cancels_a_handler_that_waits_when_the_client_goes),
		CASE_WITH_DEADLINE(cuts_the_body_of_a_handler_that_goes_on_after_its_deadline),
		CASE_WITH_DEADLINE(frees_a_writer_that_waits_for_room_after_its_deadline),
		CASE(lets_a_body_end_in_a_drain),
		CASE(lets_a_handler_say_last_words_when_a_shutdown_cancels_it),
		CASE(cuts_the_body_of_a_stuck_handler_at_the_end_of_a_shutdown),
		CASE(tells_the_handler_and_the_client_which_request_it_is),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
