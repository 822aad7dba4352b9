#include <errno.h>
#include <string.h>

#include "tests/fakes/recorded_stream.h"
#include "tests/with_cmocka.h"

static int write_text(struct recorded_stream *stream, const char *text)
{
	return response_stream_write(&stream->response, text, strlen(text), DEADLINE_NEVER);
}

static void what_is_written_is_the_body_and_the_headers_stay(void **state)
{
	struct recorded_stream stream;

	(void)state;
	recorded_stream_init(&stream);
	response_add_header(&stream.response, "Cache-Control", "no-store");
	assert_int_equal(response_stream_begin(&stream.response, 200, "text/plain"), 0);
	assert_int_equal(write_text(&stream, "one "), 0);
	assert_int_equal(write_text(&stream, ""), 0);
	assert_int_equal(write_text(&stream, "two"), 0);
	assert_true(stream.response.is_streamed);
	assert_int_equal(stream.response.status, 200);
	assert_string_equal(stream.response.content_type, "text/plain");
	assert_string_equal(response_header(&stream.response, "cache-control"), "no-store");
	assert_string_equal(stream.text, "one two");
	assert_int_equal(stream.writes, 2);
	recorded_stream_finish(&stream);
}

static void an_error_stays_and_ends_the_writing(void **state)
{
	struct recorded_stream stream;

	(void)state;
	recorded_stream_init(&stream);
	stream.good_writes = 1;
	stream.error = -ECANCELED;
	assert_int_equal(response_stream_begin(&stream.response, 200, "text/plain"), 0);
	assert_int_equal(write_text(&stream, "one"), 0);
	assert_int_equal(write_text(&stream, "two"), -ECANCELED);
	stream.error = 0;
	assert_int_equal(write_text(&stream, "three"), -ECANCELED);
	response_stream_fail(&stream.response, -EIO);
	assert_int_equal(stream.response.stream_error, -ECANCELED);
	assert_string_equal(stream.text, "one");
	recorded_stream_finish(&stream);
}

static void a_handler_can_have_its_stream_fail(void **state)
{
	struct recorded_stream stream;

	(void)state;
	recorded_stream_init(&stream);
	assert_int_equal(response_stream_begin(&stream.response, 200, "text/plain"), 0);
	response_stream_fail(&stream.response, -ENOMEM);
	assert_int_equal(write_text(&stream, "one"), -ENOMEM);
	assert_null(stream.text);
	recorded_stream_finish(&stream);
}

static int refuse_to_begin(struct response *response)
{
	(void)response;
	return -ENOMEM;
}

static void an_answer_that_cannot_be_streamed_can_be_given_otherwise(void **state)
{
	static const struct response_stream_ops ops = {.begin = refuse_to_begin};
	struct response response = {0};

	(void)state;
	assert_int_equal(response_stream_begin(&response, 200, "text/plain"), -ENOTSUP);
	response.stream_ops = &ops;
	assert_int_equal(response_stream_begin(&response, 200, "text/plain"), -ENOMEM);
	response_problem(&response, 503, NULL, "out of memory");
	assert_int_equal(response.status, 503);
	assert_false(response.is_streamed);
	assert_ptr_equal(response.stream_ops, &ops);
	response_finish(&response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_the_body_and_the_headers_stay),
		cmocka_unit_test(an_error_stays_and_ends_the_writing),
		cmocka_unit_test(a_handler_can_have_its_stream_fail),
		cmocka_unit_test(an_answer_that_cannot_be_streamed_can_be_given_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
