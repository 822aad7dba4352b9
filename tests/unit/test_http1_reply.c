#include <string.h>

#include "clients/http1_reply.h"
#include "tests/with_cmocka.h"

#define HEAD "HTTP/1.1 200 OK\r\n"
#define LENGTH(n) HEAD "Content-Length: " #n "\r\n\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

enum { MOST_BODY_BYTES = 1000 };

static struct phr_header headers[HTTP1_HEADERS_MAX];

struct reading {
	struct http1_reply reply;
	enum http1_verdict verdict;
	struct http1_piece piece;
	char bytes[HTTP1_HEAD_MAX_BYTES];
};

/* The whole text at once. */
static void read_text(struct reading *reading, const char *text)
{
	size_t length = strlen(text);

	assert_in_range(length, 1, sizeof(reading->bytes));
	reading->reply = (struct http1_reply){.max_body_bytes = MOST_BODY_BYTES};
	memcpy(reading->bytes, text, length);
	reading->verdict =
		http1_reply_read(&reading->reply, reading->bytes, length, headers, &reading->piece);
}

static void assert_whole(const char *text, int status, const char *body, bool keep_alive)
{
	struct reading reading;

	read_text(&reading, text);
	assert_int_equal(reading.verdict, HTTP1_WHOLE);
	assert_int_equal(reading.reply.status, status);
	assert_int_equal(reading.reply.keep_alive, keep_alive);
	assert_int_equal(reading.piece.body_bytes, strlen(body));
	assert_memory_equal(reading.piece.body, body, strlen(body));
	assert_int_equal(reading.piece.used, strlen(text));
}

static void assert_malformed(const char *text)
{
	struct reading reading;

	read_text(&reading, text);
	if (reading.verdict != HTTP1_MALFORMED)
		fail_msg("not refused: %s", text);
	assert_non_null(reading.reply.fault);
}

static void reads_a_counted_body(void **state)
{
	(void)state;
	assert_whole(LENGTH(5) "hello", 200, "hello", true);
	assert_whole(LENGTH(0), 200, "", true);
	assert_whole(HEAD "content-LENGTH:\t 0005 \t\r\n\r\nhello", 200, "hello", true);
	assert_whole("HTTP/1.1 404\r\nContent-Length: 2\r\n\r\nno", 404, "no", true);
	assert_whole("HTTP/1.1 404 \r\nContent-Length: 2\r\n\r\nno", 404, "no", true);
}

static void joins_chunks(void **state)
{
	(void)state;
	assert_whole(CHUNKED "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\nT: 1\r\nU: 2\r\n\r\n",
	             200, "abc0123456789", true);
	assert_whole(CHUNKED "0003 \r\nabc\r\n000\r\n\r\n", 200, "abc", true);
	assert_whole(HEAD "transfer-encoding: Chunked\r\n\r\n0\r\n\r\n", 200, "", true);
}

static void goes_up_to_the_end_of_the_connection(void **state)
{
	struct reading reading;

	(void)state;
	read_text(&reading, HEAD "\r\nhello");
	assert_int_equal(reading.verdict, HTTP1_MORE);
	assert_int_equal(reading.piece.body_bytes, 5);
	assert_true(http1_reply_ends(&reading.reply));
	assert_false(reading.reply.keep_alive);
}

static void is_not_whole_when_it_ends_early(void **state)
{
	static const char *const texts[] = {
		"H", HEAD, HEAD "\r", LENGTH(5) "hell", CHUNKED "3\r\nabc\r\n", CHUNKED "0\r\n",
	};
	struct reading reading;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		read_text(&reading, texts[i]);
		assert_int_equal(reading.verdict, HTTP1_MORE);
		assert_false(http1_reply_ends(&reading.reply));
	}
}

static void has_no_body_by_its_status(void **state)
{
	struct reading reading;

	(void)state;
	assert_whole("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true);
	assert_whole("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", true);
	read_text(&reading, "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok");
	assert_int_equal(reading.verdict, HTTP1_WHOLE);
	assert_int_equal(reading.piece.used,
	                 strlen("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n"));
}

static void leaves_what_follows_it(void **state)
{
	struct reading reading;

	(void)state;
	read_text(&reading, LENGTH(2) "okHTTP/1.1");
	assert_int_equal(reading.verdict, HTTP1_WHOLE);
	assert_int_equal(reading.piece.used, strlen(LENGTH(2) "ok"));
	read_text(&reading, CHUNKED "0\r\n\r\n0\r\n\r\n");
	assert_int_equal(reading.verdict, HTTP1_WHOLE);
	assert_int_equal(reading.piece.used, strlen(CHUNKED "0\r\n\r\n"));
}

static void passes_over_interim_replies(void **state)
{
	char many[HTTP1_HEAD_MAX_BYTES] = "";
	char *at = many;

	(void)state;
	assert_whole(
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" LENGTH(2) "ok",
		200, "ok", true);
	assert_malformed("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
	for (int i = 0; i <= HTTP1_INTERIM_MAX; i++)
		at = stpcpy(at, "HTTP/1.1 100 Continue\r\n\r\n");
	assert_malformed(many);
}

static void says_whether_the_connection_is_kept(void **state)
{
	(void)state;
	assert_whole(HEAD "Connection: close\r\nContent-Length: 0\r\n\r\n", 200, "", false);
	assert_whole(HEAD "Connection: x ,\tCLOSE\r\nContent-Length: 0\r\n\r\n", 200, "", false);
	assert_whole(HEAD "Connection: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200,
	             "", false);
	assert_whole(HEAD "Connection: closed\r\nContent-Length: 0\r\n\r\n", 200, "", true);
	assert_whole("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", false);
	assert_whole("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", 200,
	             "", true);
	assert_whole(HEAD "Connection: keep-alive, close\r\nContent-Length: 0\r\n\r\n", 200, "",
	             false);
}

static void refuses_what_is_not_http_1(void **state)
{
	static const char *const texts[] = {
		"X",
		"GARBAGE",
		"\r\nHTTP/1.1 200 OK\r\n\r\n",
		"<html></html>",
		"HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.2 200 OK\r\n\r\n",
		"HTTP/11.1 200 OK\r\n\r\n",
		"http/1.1 200 OK\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/1.1\t200 OK\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/1.1 -20 OK\r\n\r\n",
		"HTTP/1.1 200OK\r\n\r\n",
		"HTTP/1.1 200 O\rK\r\n\r\n",
		"HTTP/1.1 200 O\x01K\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_malformed(texts[i]);
}

static void refuses_two_ways_to_frame(void **state)
{
	static const char *const texts[] = {
		HEAD "Content-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
		HEAD "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
		HEAD "Content-Length: 2, 2\r\n\r\nok",
		HEAD "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding:\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_malformed(texts[i]);
}

static void refuses_malformed_lines(void **state)
{
	static const char *const texts[] = {
		HEAD "Content-Length: -2\r\n\r\n",
		HEAD "Content-Length: +2\r\n\r\n",
		HEAD "Content-Length: 2x\r\n\r\n",
		HEAD "Content-Length: 0x2\r\n\r\n",
		HEAD "Content-Length:\r\n\r\n",
		HEAD "Content-Length: 1 2\r\n\r\n",
		HEAD "X: a\r\n b\r\n\r\n",
		HEAD " X: a\r\n\r\n",
		HEAD "X: a\rb\r\n\r\n",
		HEAD "X: a\x7f\r\n\r\n",
		HEAD "X : a\r\n\r\n",
		HEAD ": a\r\n\r\n",
		HEAD "X a\r\n\r\n",
		HEAD "X\x01: a\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_malformed(texts[i]);
}

static void refuses_malformed_chunks(void **state)
{
	static const char *const texts[] = {
		CHUNKED "zz\r\n",
		CHUNKED "\r\n",
		CHUNKED ";x\r\n",
		CHUNKED "-1\r\n",
		CHUNKED " 1\r\n",
		CHUNKED "0x10\r\n0123456789abcdef\r\n0\r\n\r\n",
		CHUNKED "fffffffffffffffff\r\n",
		CHUNKED "00000000000000003\r\nabc\r\n",
		CHUNKED "3\nabc\r\n",
		CHUNKED "3\rabc",
		CHUNKED "2\r\nabc\r\n",
		CHUNKED "3\r\nabc\n",
		CHUNKED "3\r\nabc\r\r\n",
		CHUNKED "3;\x01\r\nabc\r\n",
		CHUNKED "0\r\nT: \r1\r\n",
		CHUNKED "0\r\n\n",
		CHUNKED "0\r\n\rx",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_malformed(texts[i]);
}

static void refuses_a_nul(void **state)
{
	static const char text[] = HEAD "X: a\0b\r\n\r\n";
	struct reading reading = {.reply.max_body_bytes = MOST_BODY_BYTES};

	(void)state;
	memcpy(reading.bytes, text, sizeof(text) - 1);
	assert_int_equal(http1_reply_read(&reading.reply, reading.bytes, sizeof(text) - 1, headers,
	                                  &reading.piece),
	                 HTTP1_MALFORMED);
}

static void refuses_a_body_as_soon_as_it_is_known_to_be_too_large(void **state)
{
	static const char *const texts[] = {
		LENGTH(1001),
		LENGTH(99999999999999999999999),
		LENGTH(18446744073709551616),
		CHUNKED "3e9\r\n",
		CHUNKED "3\r\nabc\r\n3e6\r\n",
		CHUNKED "ffffffffffffffff\r\n",
		CHUNKED "ffffffffffffffff\r\nabc",
	};
	struct reading reading;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		read_text(&reading, texts[i]);
		assert_int_equal(reading.verdict, HTTP1_TOO_LARGE);
	}
	read_text(&reading, LENGTH(1000));
	assert_int_equal(reading.verdict, HTTP1_MORE);
}

/* @text, and then @filler until it is refused; returns how many bytes that took. */
static size_t read_until_refused(const char *text, const char *filler)
{
	struct http1_reply reply = {.max_body_bytes = MOST_BODY_BYTES};
	static char bytes[HTTP1_HEAD_MAX_BYTES];
	size_t held = strlen(text), total = held;
	struct http1_piece piece;

	memcpy(bytes, text, held);
	while (http1_reply_read(&reply, bytes, held, headers, &piece) == HTTP1_MORE) {
		held -= piece.used;
		memmove(bytes, bytes + piece.used, held);
		assert_true(held + strlen(filler) <= sizeof(bytes));
		memcpy(bytes + held, filler, strlen(filler));
		held += strlen(filler);
		total += strlen(filler);
	}
	assert_non_null(reply.fault);
	return total;
}

static void refuses_what_has_no_end(void **state)
{
	(void)state;
	assert_int_equal(read_until_refused("HTTP/1.1 200 ", "x"), HTTP1_HEAD_MAX_BYTES);
	assert_int_equal(read_until_refused(HEAD "X: ", "x"), HTTP1_HEAD_MAX_BYTES);
	assert_in_range(read_until_refused(CHUNKED "1;", "x"), HTTP1_CHUNKS_EXTRA_BYTES,
	                HTTP1_CHUNKS_EXTRA_BYTES + 100);
	assert_in_range(read_until_refused(CHUNKED "0\r\n", "T: x\r\n"), HTTP1_CHUNKS_EXTRA_BYTES,
	                2 * HTTP1_CHUNKS_EXTRA_BYTES);
}

static void refuses_too_many_fields(void **state)
{
	char text[HTTP1_HEAD_MAX_BYTES];
	char *at = stpcpy(text, HEAD "Content-Length: 0\r\n");

	(void)state;
	for (int i = 1; i < HTTP1_HEADERS_MAX; i++)
		at = stpcpy(at, "X: y\r\n");
	(void)stpcpy(at, "\r\n");
	assert_whole(text, 200, "", true);
	(void)stpcpy(at, "X: y\r\n\r\n");
	assert_malformed(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_counted_body),
		cmocka_unit_test(joins_chunks),
		cmocka_unit_test(goes_up_to_the_end_of_the_connection),
		cmocka_unit_test(is_not_whole_when_it_ends_early),
		cmocka_unit_test(has_no_body_by_its_status),
		cmocka_unit_test(leaves_what_follows_it),
		cmocka_unit_test(passes_over_interim_replies),
		cmocka_unit_test(says_whether_the_connection_is_kept),
		cmocka_unit_test(refuses_what_is_not_http_1),
		cmocka_unit_test(refuses_two_ways_to_frame),
		cmocka_unit_test(refuses_malformed_lines),
		cmocka_unit_test(refuses_malformed_chunks),
		cmocka_unit_test(refuses_a_nul),
		cmocka_unit_test(refuses_a_body_as_soon_as_it_is_known_to_be_too_large),
		cmocka_unit_test(refuses_what_has_no_end),
		cmocka_unit_test(refuses_too_many_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
