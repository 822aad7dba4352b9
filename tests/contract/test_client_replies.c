#include <stdio.h>
#include <string.h>

#include "tests/contract/client_fixture.h"

/* What a client makes of replies, right and wrong. */

enum {
	LONG_HEADER = 150 * 1024,
	MANY_HEADERS = 40000,
	SOME_BYTES = 20 * 1024,
	SOME_HEADERS = 1000
};

static char long_header[LONG_HEADER + 64];
static char many_headers[MANY_HEADERS * sizeof("X-N: 12345\r\n") + 64];
static char some_bytes[SOME_BYTES + 64];
static char some_headers[SOME_HEADERS * sizeof("X-N: 12345\r\n") + 64];
static char maximum[CLIENT_MAX_REPLY_BYTES + 64];
static char over_maximum[CLIENT_MAX_REPLY_BYTES + 64];

#define HEAD "HTTP/1.1 200 OK\r\n"
#define LENGTH(n) HEAD "Content-Length: " #n "\r\n\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

static const struct raw_reply replies[] = {
	{.path = "/whole", .bytes = LENGTH(5) "hello"},
	{.path = "/empty", .bytes = LENGTH(0)},
	{.path = "/204", .bytes = "HTTP/1.1 204 No Content\r\n\r\n"},
	{.path = "/500",
         .bytes = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops"},
	{.path = "/302",
         .bytes = "HTTP/1.1 302 Found\r\nLocation: /whole\r\n"
                  "Content-Length: 0\r\n\r\n"},
	{.path = "/100", .bytes = "HTTP/1.1 100 Continue\r\n\r\n" LENGTH(2) "ok"},
	{.path = "/no-reason", .bytes = "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"},
	{.path = "/http-1.0", .bytes = "HTTP/1.0 200 OK\r\n\r\nold but fine", .ending = RAW_CLOSE},
	{.path = "/chunked", .bytes = CHUNKED "3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\n\r\n"},
	{.path = "/gzip", .bytes = HEAD "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"},
	{.path = "/maximum", .bytes = maximum, .ending = RAW_CLOSE},
	{.path = "/over-maximum", .bytes = over_maximum, .ending = RAW_CLOSE},
	{.path = "/announces-too-much", .bytes = LENGTH(65537) "not yet"},
	{.path = "/announces-huge", .bytes = LENGTH(99999999999999999999999) "not yet"},
	{.path = "/chunk-too-large", .bytes = CHUNKED "10001\r\nnot yet"},
	{.path = "/head-only", .bytes = LENGTH(1000000000)},

	{.path = "/close", .ending = RAW_CLOSE},
	{.path = "/reset", .ending = RAW_RESET},
	{.path = "/half-a-head", .bytes = "HTTP/1.1 200 OK\r\nContent-Le", .ending = RAW_CLOSE},
	{.path = "/half-a-body", .bytes = LENGTH(10) "12345", .ending = RAW_CLOSE},
	{.path = "/reset-body", .bytes = LENGTH(10) "12345", .ending = RAW_RESET},
	{.path = "/half-a-chunk", .bytes = CHUNKED "a\r\n12345", .ending = RAW_CLOSE},
	{.path = "/no-last-chunk", .bytes = CHUNKED "3\r\nabc\r\n", .ending = RAW_CLOSE},
	{.path = "/garbage", .bytes = "\1\2\3\4 no HTTP at all\r\n\r\n", .ending = RAW_CLOSE},
	{.path = "/bad-status", .bytes = "HTTP/1.1 abc\r\n\r\n", .ending = RAW_CLOSE},
	{.path = "/bad-length", .bytes = HEAD "Content-Length: ten\r\n\r\n1234567890"},
	{.path = "/bad-chunk", .bytes = CHUNKED "zz\r\nabc\r\n0\r\n\r\n"},
	{.path = "/huge-chunk", .bytes = CHUNKED "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"},
	{.path = "/long-header", .bytes = long_header},
	{.path = "/many-headers", .bytes = many_headers},
	{.path = "/some-bytes", .bytes = some_bytes},
	{.path = "/some-headers", .bytes = some_headers},
	{.path = "/nul-in-header",
         .bytes = HEAD "X: a\0b\r\nContent-Length: 2\r\n\r\nok",
         .length = sizeof(HEAD "X: a\0b\r\nContent-Length: 2\r\n\r\nok") - 1},
	{.path = NULL},
};

/* @head, then @count times @filler, then @end. */
static void fill(char *text, size_t size, const char *head, const char *filler, size_t count,
                 const char *end)
{
	FILE *stream = fmemopen(text, size, "w");

	assert_non_null(stream);
	(void)fputs(head, stream);
	for (size_t i = 0; i < count; i++)
		(void)fputs(filler, stream);
	assert_true(fputs(end, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
	assert_true(strlen(text) < size - 1);
}

static int setup(void **state)
{
	fill(maximum, sizeof(maximum), "HTTP/1.0 200 OK\r\n\r\n", "x", CLIENT_MAX_REPLY_BYTES, "");
	fill(over_maximum, sizeof(over_maximum), "HTTP/1.0 200 OK\r\n\r\n", "x",
	     CLIENT_MAX_REPLY_BYTES + 1, "");
	fill(long_header, sizeof(long_header), HEAD "X: ", "x", LONG_HEADER, "\r\n\r\n");
	fill(many_headers, sizeof(many_headers), HEAD, "X-N: 12345\r\n", MANY_HEADERS, "\r\n");
	fill(some_bytes, sizeof(some_bytes), HEAD "X: ", "x", SOME_BYTES,
	     "\r\nContent-Length: 0\r\n\r\n");
	fill(some_headers, sizeof(some_headers), HEAD "Content-Length: 0\r\n", "X-N: 12345\r\n",
	     SOME_HEADERS, "\r\n");
	return client_setup(state, replies);
}

static void gives_status_and_body(void **state)
{
	assert_get_answers(*state, "/whole", 200, "hello");
	assert_get_answers(*state, "/empty", 200, "");
	assert_get_answers(*state, "/204", 204, "");
	assert_get_answers(*state, "/no-reason", 200, "ok");
}

static void takes_an_error_status_for_a_whole_reply(void **state)
{
	assert_get_answers(*state, "/500", 500, "oops");
}

static void does_not_follow_redirects(void **state)
{
	struct raw_counts counts;
	struct client_fixture *fixture = *state;

	assert_get_answers(fixture, "/302", 302, "");
	raw_server_counts(fixture->server, &counts);
	assert_int_equal(counts.requests, 1);
}

static void skips_interim_replies(void **state)
{
	assert_get_answers(*state, "/100", 200, "ok");
}

static void reads_a_body_up_to_the_close(void **state)
{
	assert_get_answers(*state, "/http-1.0", 200, "old but fine");
}

static void joins_chunks(void **state)
{
	assert_get_answers(*state, "/chunked", 200, "abcdefgh");
}

static void does_not_decompress(void **state)
{
	assert_get_answers(*state, "/gzip", 200, "abc");
}

static void takes_a_body_of_the_most_bytes_allowed(void **state)
{
	struct http_call call = get(*state, "/maximum");

	assert_int_equal(call.failure, HTTP_OK);
	assert_int_equal(call.reply_len, CLIENT_MAX_REPLY_BYTES);
	assert_int_equal(strlen(call.reply), CLIENT_MAX_REPLY_BYTES);
	http_call_finish(&call);
}

static void refuses_a_longer_body_by_its_bytes(void **state)
{
	assert_get_fails(*state, "/over-maximum", HTTP_TOO_LARGE);
}

static void refuses_a_longer_body_as_soon_as_it_is_announced(void **state)
{
	assert_get_fails(*state, "/announces-too-much", HTTP_TOO_LARGE);
	assert_get_fails(*state, "/announces-huge", HTTP_TOO_LARGE);
}

static void counts_without_keeping(void **state)
{
	struct client_fixture *fixture = *state;
	struct http_call call = {
		.url = url_of(fixture, "/maximum"),
		.max_reply_bytes = CLIENT_MAX_REPLY_BYTES,
		.count_only = true,
	};

	assert_int_equal(call_in_task(fixture, &call, 5000), HTTP_OK);
	assert_int_equal(call.reply_len, CLIENT_MAX_REPLY_BYTES);
	assert_null(call.reply);
	call.url = url_of(fixture, "/over-maximum");
	assert_int_equal(call_in_task(fixture, &call, 5000), HTTP_TOO_LARGE);
}

static void has_no_body_after_a_head_request(void **state)
{
	struct client_fixture *fixture = *state;
	struct http_call call = {
		.method = "HEAD",
		.url = url_of(fixture, "/head-only"),
		.max_reply_bytes = CLIENT_MAX_REPLY_BYTES,
	};

	assert_int_equal(call_in_task(fixture, &call, 5000), HTTP_OK);
	assert_int_equal(call.status, 200);
	assert_string_equal(call.reply, "");
	http_call_finish(&call);
	assert_get_answers(fixture, "/whole", 200, "hello");
}

static void calls_a_connection_that_ends_early_a_reset(void **state)
{
	assert_get_fails(*state, "/close", HTTP_RESET);
	assert_get_fails(*state, "/reset", HTTP_RESET);
	assert_get_fails(*state, "/half-a-body", HTTP_RESET);
	assert_get_fails(*state, "/reset-body", HTTP_RESET);
	assert_get_fails(*state, "/half-a-chunk", HTTP_RESET);
	assert_get_fails(*state, "/no-last-chunk", HTTP_RESET);
}

static void calls_what_is_not_http_a_protocol_error(void **state)
{
	assert_get_fails(*state, "/garbage", HTTP_PROTOCOL);
	assert_get_fails(*state, "/bad-status", HTTP_PROTOCOL);
	assert_get_fails(*state, "/bad-length", HTTP_PROTOCOL);
	assert_get_fails(*state, "/bad-chunk", HTTP_PROTOCOL);
	assert_get_fails(*state, "/huge-chunk", HTTP_PROTOCOL);
	assert_get_fails(*state, "/nul-in-header", HTTP_PROTOCOL);
}

static void refuses_endless_headers(void **state)
{
	assert_get_fails(*state, "/long-header", HTTP_PROTOCOL);
	assert_get_fails(*state, "/many-headers", HTTP_PROTOCOL);
}

/* Which a client may keep, and look through. */
static void refuses_more_headers_than_anyone_needs(void **state)
{
	assert_get_fails(*state, "/some-bytes", HTTP_PROTOCOL);
	assert_get_fails(*state, "/some-headers", HTTP_PROTOCOL);
}

static void goes_on_after_failures(void **state)
{
	for (int i = 0; i < 3; i++) {
		assert_get_fails(*state, "/reset", HTTP_RESET);
		assert_get_fails(*state, "/bad-chunk", HTTP_PROTOCOL);
		assert_get_fails(*state, "/over-maximum", HTTP_TOO_LARGE);
		assert_get_answers(*state, "/whole", 200, "hello");
	}
}

static struct http_call get_from(const struct client_fixture *fixture, const char *path,
                                 struct reply_memory *memory)
{
	struct http_call call = {
		.url = url_of(fixture, path),
		.max_reply_bytes = CLIENT_MAX_REPLY_BYTES,
		.memory = memory,
	};

	(void)call_in_task(fixture, &call, 10000);
	return call;
}

static void takes_what_it_keeps_from_the_memory_that_calls_share(void **state)
{
	enum { MEMORY_BYTES = CLIENT_MAX_REPLY_BYTES + 5000 };
	struct reply_memory memory;
	struct http_call first, second;

	reply_memory_init(&memory, MEMORY_BYTES);
	first = get_from(*state, "/maximum", &memory);
	assert_int_equal(first.failure, HTTP_OK);
	assert_true(atomic_load(&memory.left) <= 5000);

	second = get_from(*state, "/maximum", &memory);
	assert_string_equal(http_failure_name(second.failure), "too_large");
	assert_null(second.reply);
	second = get_from(*state, "/whole", &memory); /* there is room for a small one */
	assert_int_equal(second.failure, HTTP_OK);
	http_call_finish(&second);

	http_call_finish(&first);
	assert_int_equal(atomic_load(&memory.left), MEMORY_BYTES);
	second = get_from(*state, "/maximum", &memory);
	assert_int_equal(second.failure, HTTP_OK);
	http_call_finish(&second);
	assert_int_equal(atomic_load(&memory.left), MEMORY_BYTES);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		CASE(gives_status_and_body),
		CASE(takes_an_error_status_for_a_whole_reply),
		CASE(does_not_follow_redirects),
		CASE(skips_interim_replies),
		CASE(reads_a_body_up_to_the_close),
		CASE(joins_chunks),
		CASE(does_not_decompress),
		CASE(takes_a_body_of_the_most_bytes_allowed),
		CASE(refuses_a_longer_body_by_its_bytes),
		CASE(refuses_a_longer_body_as_soon_as_it_is_announced),
		CASE(counts_without_keeping),
		CASE(has_no_body_after_a_head_request),
		CASE(calls_a_connection_that_ends_early_a_reset),
		CASE(calls_what_is_not_http_a_protocol_error),
		CASE(refuses_endless_headers),
		CASE(refuses_more_headers_than_anyone_needs),
		CASE(goes_on_after_failures),
		CASE(takes_what_it_keeps_from_the_memory_that_calls_share),
	};
#undef CASE

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
