#include <stdio.h>
#include <string.h>

#include "tests/contract/client_fixture.h"

/* What a client that can decompress makes of compressed replies, asked for and not. */

enum { ZEROS = 1024 * 1024, ZEROS_GZIP = 1051 };

#define HELLO "hello, hello, hello, hello!"
/* Python: gzip.compress(HELLO, 9, mtime=0), zlib.compress(HELLO), gzip.compress(bytes(ZEROS), 9,
 * mtime=0) */
#define HELLO_GZIP                                                                                 \
	"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\xc0\xa4\x14\x01\x0b"       \
	"\xd8\x1d\x85\x1b\0\0\0"
#define HELLO_ZLIB "\x78\x9c\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\xc0\xa4\x14\x01\x85\x6c\x09\x56"
#define ZEROS_GZIP_START                                                                           \
	"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xed\xc1\x31\x01\0\0\0\xc2\xa0\xf5\x4f\x6d\x08\x5f\xa0"
#define ZEROS_GZIP_END "\x3e\x03\x1c\xea\x38\xa7\0\0\x10\0"

static char bomb[ZEROS_GZIP + 256];

#define GZIP(n) "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " #n "\r\n\r\n"
#define RAW(text) .bytes = (text), .length = sizeof(text) - 1

static struct raw_reply replies[] = {
	{.path = "/gzip", RAW(GZIP(30) HELLO_GZIP)},
	{.path = "/deflate",
         RAW("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: "
             "18\r\n\r\n" HELLO_ZLIB)},
	{.path = "/plain", .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
	{.path = "/not-gzip", .bytes = GZIP(14) "hello, hello!!"},
	{.path = "/gzip-and-more", RAW(GZIP(38) HELLO_GZIP "and more")},
	{.path = "/bomb", .bytes = bomb},
	{.path = NULL},
};

/* The middle of so many zeros is zeros, too. */
static void make_bomb(void)
{
	static const char start[] = ZEROS_GZIP_START, end[] = ZEROS_GZIP_END;
	int head = snprintf(bomb, sizeof(bomb),
	                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
	                    "Content-Length: %d\r\n\r\n",
	                    ZEROS_GZIP);

	assert_in_range(head, 1, sizeof(bomb) - ZEROS_GZIP);
	memcpy(bomb + head, start, sizeof(start) - 1);
	memcpy(bomb + head + ZEROS_GZIP - (sizeof(end) - 1), end, sizeof(end) - 1);
	for (size_t i = 0; replies[i].path; i++)
		if (replies[i].bytes == bomb)
			replies[i].length = (size_t)head + ZEROS_GZIP;
}

static int setup(void **state)
{
	if (bomb[0] == '\0')
		make_bomb();
	return client_setup(state, replies);
}

static struct http_call get_compressed(const struct client_fixture *fixture, const char *path,
                                       size_t max_reply_bytes)
{
	struct http_call call = {
		.url = url_of(fixture, path),
		.max_reply_bytes = max_reply_bytes,
		.accepts_compressed = true,
	};

	(void)call_in_task(fixture, &call, 5000);
	return call;
}

static void assert_says(struct http_call call, const char *reply)
{
	assert_string_equal(http_failure_name(call.failure), "ok");
	assert_string_equal(call.reply, reply);
	assert_int_equal(call.reply_len, strlen(reply));
	http_call_finish(&call);
}

static void asks_only_when_a_call_accepts_it(void **state)
{
	struct client_fixture *fixture = *state;
	char request[RAW_REQUEST_BYTES];

	assert_says(get_compressed(fixture, "/plain", 100), "hello");
	raw_server_last_request(fixture->server, request);
	assert_non_null(strcasestr(request, "\r\nAccept-Encoding: gzip, deflate\r\n"));
	assert_get_answers(fixture, "/plain", 200, "hello");
	raw_server_last_request(fixture->server, request);
	assert_null(strcasestr(request, "Accept-Encoding"));
}

static void decompresses_what_was_asked_for(void **state)
{
	assert_says(get_compressed(*state, "/gzip", strlen(HELLO)), HELLO);
	assert_says(get_compressed(*state, "/deflate", strlen(HELLO)), HELLO);
	assert_says(get_compressed(*state, "/plain", 5), "hello");
}

static void leaves_what_was_not_asked_for(void **state)
{
	struct http_call call;

	assert_says(get_compressed(*state, "/gzip", 100), HELLO);
	call = get(*state, "/gzip");
	assert_int_equal(call.reply_len, sizeof(HELLO_GZIP) - 1);
	assert_memory_equal(call.reply, HELLO_GZIP, sizeof(HELLO_GZIP) - 1);
	http_call_finish(&call);
}

static void counts_decompressed_bytes_against_the_limit(void **state)
{
	struct http_call call = get_compressed(*state, "/bomb", ZEROS);

	assert_string_equal(http_failure_name(call.failure), "ok");
	assert_int_equal(call.reply_len, ZEROS);
	http_call_finish(&call);
	call = get_compressed(*state, "/bomb", ZEROS - 1);
	assert_string_equal(http_failure_name(call.failure), "too_large");
	assert_null(call.reply);
	call = get_compressed(*state, "/bomb", 2000);
	assert_string_equal(http_failure_name(call.failure), "too_large");
	assert_says(get_compressed(*state, "/gzip", 100), HELLO);
}

static void calls_what_cannot_be_decompressed_a_protocol_error(void **state)
{
	struct http_call call = get_compressed(*state, "/not-gzip", 100);

	assert_string_equal(http_failure_name(call.failure), "protocol");
	call = get_compressed(*state, "/gzip-and-more", 100);
	assert_string_equal(http_failure_name(call.failure), "protocol");
	assert_says(get_compressed(*state, "/gzip", 100), HELLO);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		CASE(asks_only_when_a_call_accepts_it),
		CASE(decompresses_what_was_asked_for),
		CASE(leaves_what_was_not_asked_for),
		CASE(counts_decompressed_bytes_against_the_limit),
		CASE(calls_what_cannot_be_decompressed_a_protocol_error),
	};
#undef CASE

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
