#include <string.h>

#include "clients/http1_fields.h"
#include "clients/http1_reply.h"
#include "tests/with_cmocka.h"

static struct phr_header fields[HTTP1_HEADERS_MAX];
static char bytes[HTTP1_HEAD_MAX_BYTES];

/* The reply that starts with @head, for a call that may have @most bytes of it. */
static enum http1_verdict read_head(const char *head, size_t most, struct http1_reply *reply)
{
	struct http1_piece piece;

	*reply = (struct http1_reply){.max_body_bytes = most, .counts_fields = true};
	memcpy(bytes, head, strlen(head));
	return http1_reply_read(reply, bytes, strlen(head), fields, &piece);
}

static void fields_are_copied_without_white_space_around(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nA: b \t\r\nContent-Length: 0\r\na:\r\n\r\n";
	struct http_call call = {0};
	struct http1_reply reply;

	(void)state;
	assert_int_equal(read_head(head, 1000, &reply), HTTP1_WHOLE);
	assert_int_equal(reply.field_count, 3);
	assert_int_equal(http1_fields_bytes(fields, 3), 4 + 17 + 3);
	assert_int_equal(http1_fields_keep(fields, 3, &call), 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(call.reply_header_count, 3);
	assert_string_equal(call.reply_headers[0].name, "A");
	assert_string_equal(call.reply_headers[0].value, "b");
	assert_string_equal(call.reply_headers[1].name, "Content-Length");
	assert_string_equal(call.reply_headers[1].value, "0");
	assert_string_equal(call.reply_headers[2].name, "a");
	assert_string_equal(call.reply_headers[2].value, "");
	http_call_finish(&call);
	assert_null(call.reply_headers);
}

static void a_head_without_fields_is_kept_as_none(void **state)
{
	struct http_call call = {0};
	struct http1_reply reply;

	(void)state;
	assert_int_equal(read_head("HTTP/1.1 204 \r\n\r\n", 1, &reply), HTTP1_WHOLE);
	assert_int_equal(http1_fields_keep(fields, reply.field_count, &call), 0);
	assert_int_equal(call.reply_header_count, 0);
	http_call_finish(&call);
}

static void fields_count_as_a_part_of_the_reply(void **state)
{
	static const char counted[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				      "5\r\nhello\r\n0\r\n\r\n";
	static const char to_end[] = "HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello";
	struct http1_reply reply;

	(void)state;
	assert_int_equal(read_head(counted, 17 + 5, &reply), HTTP1_WHOLE);
	assert_int_equal(read_head(counted, 17 + 4, &reply), HTTP1_TOO_LARGE);
	assert_int_equal(read_head(counted, 16, &reply), HTTP1_TOO_LARGE);
	assert_int_equal(read_head(chunked, 26 + 5, &reply), HTTP1_WHOLE);
	assert_int_equal(read_head(chunked, 26 + 4, &reply), HTTP1_TOO_LARGE);
	assert_int_equal(read_head(to_end, 4 + 5, &reply), HTTP1_MORE);
	assert_int_equal(read_head(to_end, 4 + 4, &reply), HTTP1_TOO_LARGE);
}

static void those_of_interim_replies_do_not_count(void **state)
{
	static const char head[] = "HTTP/1.1 103 Early Hints\r\nLink: a\r\nLink: b\r\n\r\n"
				   "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n";
	struct http1_reply reply;

	(void)state;
	assert_int_equal(read_head(head, 4, &reply), HTTP1_WHOLE);
	assert_int_equal(reply.field_count, 1);
}

static void the_first_retry_after_that_can_be_read_holds(void **state)
{
	static const char head[] = "HTTP/1.1 503 \r\nretry-after: soon\r\nX-Retry-After: 1\r\n"
				   "Retry-After: 7 \r\nRETRY-AFTER: 9\r\nContent-Length: 0\r\n\r\n";
	struct http_call call = {0};
	struct http1_reply reply;

	(void)state;
	assert_int_equal(read_head(head, 1000, &reply), HTTP1_WHOLE);
	http1_fields_note_retry_after(fields, reply.field_count, &call);
	assert_true(call.has_retry_after);
	assert_int_equal(call.retry_after_s, 7);
	call = (struct http_call){0};
	http1_fields_note_retry_after(fields, 2, &call);
	assert_false(call.has_retry_after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_copied_without_white_space_around),
		cmocka_unit_test(a_head_without_fields_is_kept_as_none),
		cmocka_unit_test(fields_count_as_a_part_of_the_reply),
		cmocka_unit_test(those_of_interim_replies_do_not_count),
		cmocka_unit_test(the_first_retry_after_that_can_be_read_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
