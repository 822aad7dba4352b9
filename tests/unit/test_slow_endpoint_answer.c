#include "server/slow_endpoint_answer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/with_cmocka.h"

static char pattern[SLOW_PATTERN_BYTES];

static int fill_pattern(void **state)
{
	(void)state;
	slow_pattern_fill(pattern);
	return 0;
}

/* Everything from @at on, taking at most @step bytes of each list, as a short write does. */
static size_t collect(const struct slow_answer *answer, uint64_t at, size_t step, char *out,
                      size_t room)
{
	char head[SLOW_ANSWER_HEAD_BYTES];
	size_t head_bytes = slow_answer_head(answer, head);
	size_t length = 0;

	for (;;) {
		struct slow_pieces pieces;
		size_t left = step;

		slow_answer_pieces(answer, head, head_bytes, pattern, at + length, &pieces);
		if (pieces.count == 0)
			break;
		for (unsigned i = 0; i < pieces.count && left > 0; i++) {
			size_t bytes =
				pieces.pieces[i].iov_len < left ? pieces.pieces[i].iov_len : left;

			assert_true(length + bytes <= room);
			memcpy(out + length, pieces.pieces[i].iov_base, bytes);
			length += bytes;
			left -= bytes;
		}
	}
	assert_int_equal(at + length, head_bytes + slow_answer_tail_bytes(answer));
	return length;
}

static void assert_answer(const struct slow_answer *answer, const char *expected)
{
	char text[1024];
	size_t length = collect(answer, 0, SIZE_MAX, text, sizeof(text) - 1);

	text[length] = '\0';
	assert_string_equal(text, expected);
}

static struct slow_answer plain(uint64_t bytes)
{
	return (struct slow_answer){
		.status = 200,
		.content_type = "text/plain",
		.body_bytes = bytes,
		.keep_alive = true,
	};
}

static void a_plain_answer_says_ok(void **state)
{
	struct slow_answer answer = plain(2);

	(void)state;
	assert_answer(&answer,
	              "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n"
	              "\r\nok");
}

static void a_chunked_answer_ends_with_an_empty_chunk(void **state)
{
	struct slow_answer answer = plain(5);

	(void)state;
	answer.chunked = true;
	assert_answer(&answer, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	                       "Transfer-Encoding: chunked\r\n\r\n5\r\nokoko\r\n0\r\n\r\n");
	answer.body_bytes = 0;
	assert_answer(&answer, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	                       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

static void http_1_0_is_told_of_keep_alive_and_never_chunked(void **state)
{
	struct slow_answer answer = plain(1);

	(void)state;
	answer.chunked = true;
	answer.http_1_0 = true;
	assert_answer(&answer,
	              "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n"
	              "Connection: keep-alive\r\n\r\no");
}

static void statuses_204_and_304_have_no_body(void **state)
{
	struct slow_answer answer = plain(2);

	(void)state;
	answer.status = 204;
	assert_answer(&answer, "HTTP/1.1 204 No Content\r\n\r\n");
	answer.status = 304;
	answer.chunked = true;
	assert_answer(&answer, "HTTP/1.1 304 Not Modified\r\n\r\n");
}

static void an_answer_to_head_stops_after_its_head(void **state)
{
	char text[] = "method not allowed\n";
	struct slow_answer answer = {
		.status = 405,
		.content_type = "text/plain",
		.text = text,
		.body_bytes = sizeof(text) - 1,
		.allow = "GET",
		.omits_body = true,
	};

	(void)state;
	assert_answer(&answer, "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\n"
	                       "Content-Length: 19\r\nAllow: GET\r\nConnection: close\r\n\r\n");
}

static void too_many_says_when_to_come_back(void **state)
{
	char text[] = "no";
	struct slow_answer answer = plain(2);

	(void)state;
	answer.status = 429;
	answer.text = text;
	answer.retry_after = 1;
	assert_answer(&answer, "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n"
	                       "Content-Length: 2\r\nRetry-After: 1\r\n\r\nno");
}

static void every_status_fits(void **state)
{
	char head[SLOW_ANSWER_HEAD_BYTES];
	struct slow_answer answer = {
		.content_type = "application/json",
		.allow = "POST",
		.body_bytes = UINT64_MAX,
		.http_1_0 = true,
		.retry_after = 86400,
	};

	(void)state;
	for (answer.status = 200; answer.status < 600; answer.status++)
		assert_in_range(slow_answer_head(&answer, head), 20, sizeof(head) - 1);
}

static void garbage_is_not_http(void **state)
{
	struct slow_answer answer = plain(2);
	char text[256];
	size_t length;

	(void)state;
	answer.is_garbage = true;
	length = collect(&answer, 0, SIZE_MAX, text, sizeof(text));
	assert_in_range(length, 8, sizeof(text));
	assert_memory_not_equal(text, "HTTP/", 5);
}

static void any_part_can_be_made_again(void **state)
{
	enum { ROOM = 200000 };
	static const uint64_t bodies[] = {0, 1, 65535, 65536, 65537, 131072, 140001};
	/* Around every seam of head, chunks and end. */
	static const uint64_t starts[] = {0,     1,     90,    100,    110,    65600, 65636,
	                                  65640, 65650, 65655, 131180, 131200, 140100};
	char *whole = malloc(ROOM), *part = malloc(ROOM);

	(void)state;
	assert_true(whole && part);
	for (size_t body = 0; body < sizeof(bodies) / sizeof(bodies[0]); body++) {
		for (int chunked = 0; chunked < 2; chunked++) {
			struct slow_answer answer = plain(bodies[body]);
			size_t length;

			answer.chunked = chunked == 1;
			length = collect(&answer, 0, SIZE_MAX, whole, ROOM);
			for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
				if (starts[i] > length)
					continue;
				assert_int_equal(collect(&answer, starts[i], 777, part, ROOM),
				                 length - starts[i]);
				assert_memory_equal(part, whole + starts[i], length - starts[i]);
			}
		}
	}
	free(whole);
	free(part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_answer_says_ok),
		cmocka_unit_test(a_chunked_answer_ends_with_an_empty_chunk),
		cmocka_unit_test(http_1_0_is_told_of_keep_alive_and_never_chunked),
		cmocka_unit_test(statuses_204_and_304_have_no_body),
		cmocka_unit_test(an_answer_to_head_stops_after_its_head),
		cmocka_unit_test(too_many_says_when_to_come_back),
		cmocka_unit_test(every_status_fits),
		cmocka_unit_test(garbage_is_not_http),
		cmocka_unit_test(any_part_can_be_made_again),
	};

	return cmocka_run_group_tests(tests, fill_pattern, NULL);
}
