#include "handlers/text_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/with_cmocka.h"

static void expect_text(struct text_buffer *buffer, const char *text)
{
	assert_int_equal(buffer->error, 0);
	assert_int_equal(buffer->length, strlen(text));
	assert_memory_equal(buffer->data, text, buffer->length);
}

static void numbers_are_printed_exactly(void **state)
{
	struct text_buffer buffer;

	(void)state;
	text_buffer_init(&buffer, 1000);
	text_buffer_append_unsigned(&buffer, 0);
	text_buffer_append(&buffer, " ");
	text_buffer_append_unsigned(&buffer, UINT64_MAX);
	text_buffer_append(&buffer, " ");
	text_buffer_append_tenths(&buffer, 0);
	text_buffer_append(&buffer, " ");
	text_buffer_append_tenths(&buffer, 7);
	text_buffer_append(&buffer, " ");
	text_buffer_append_tenths(&buffer, 10132);
	expect_text(&buffer, "0 18446744073709551615 0.0 0.7 1013.2");
	text_buffer_finish(&buffer);
}

static void strings_are_quoted_as_json_wants_them(void **state)
{
	struct text_buffer buffer;
	static const char expected[] = "\"a\\\"b\\\\c\\n\\u0001\\r\\t\xc3\xa4\"\"\"";

	(void)state;
	text_buffer_init(&buffer, 1000);
	text_buffer_append_quoted(&buffer, "a\"b\\c\n\1\r\t\xc3\xa4");
	text_buffer_append_quoted(&buffer, "");
	assert_int_equal(buffer.error, 0);
	assert_int_equal(buffer.length, strlen(expected));
	assert_memory_equal(buffer.data, expected, buffer.length);
	text_buffer_finish(&buffer);
}

static void trims_only_the_byte_it_is_told(void **state)
{
	struct text_buffer buffer;

	(void)state;
	text_buffer_init(&buffer, 1000);
	text_buffer_trim(&buffer, ',');
	text_buffer_append(&buffer, "{a,,");
	text_buffer_trim(&buffer, ',');
	expect_text(&buffer, "{a,");
	text_buffer_trim(&buffer, '{');
	expect_text(&buffer, "{a,");
	text_buffer_finish(&buffer);
}

static void grows_to_its_limit_and_not_beyond(void **state)
{
	enum { LIMIT = 5000 };
	struct text_buffer buffer;

	(void)state;
	text_buffer_init(&buffer, LIMIT);
	for (int i = 0; i < LIMIT / 10; i++)
		text_buffer_append(&buffer, "0123456789");
	assert_int_equal(buffer.error, 0);
	assert_int_equal(buffer.length, LIMIT);
	assert_int_equal(buffer.capacity, LIMIT);
	for (int i = 0; i < LIMIT; i++)
		assert_int_equal(buffer.data[i], '0' + i % 10);
	text_buffer_append(&buffer, "x");
	assert_int_equal(buffer.error, -ENOBUFS);
	text_buffer_finish(&buffer);
}

static void an_error_stays_and_stops_later_appends(void **state)
{
	struct text_buffer buffer;
	char *data = NULL;
	size_t length = 0;

	(void)state;
	text_buffer_init(&buffer, 4);
	text_buffer_append(&buffer, "12345");
	text_buffer_append(&buffer, "1");
	assert_int_equal(buffer.length, 0);
	assert_int_equal(text_buffer_take(&buffer, &data, &length), -ENOBUFS);
	assert_null(data);
	text_buffer_finish(&buffer);
}

static void what_is_taken_outlives_the_buffer(void **state)
{
	struct text_buffer buffer;
	size_t length;
	char *data;

	(void)state;
	text_buffer_init(&buffer, 100);
	text_buffer_append(&buffer, "text");
	assert_int_equal(text_buffer_take(&buffer, &data, &length), 0);
	text_buffer_finish(&buffer);
	assert_int_equal(length, 4);
	assert_memory_equal(data, "text", 4);
	free(data);
}

static void what_is_cut_off_leaves_no_error(void **state)
{
	struct text_buffer buffer;

	(void)state;
	text_buffer_init(&buffer, 10);
	text_buffer_append(&buffer, "abc");
	text_buffer_append(&buffer, "more than ten bytes");
	assert_int_equal(buffer.error, -ENOBUFS);
	text_buffer_cut(&buffer, 2);
	text_buffer_append_escaped(&buffer, "d\"e", 2); /* without the e */
	expect_text(&buffer, "abd\\\"");
	text_buffer_finish(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_cut_off_leaves_no_error),
		cmocka_unit_test(numbers_are_printed_exactly),
		cmocka_unit_test(strings_are_quoted_as_json_wants_them),
		cmocka_unit_test(trims_only_the_byte_it_is_told),
		cmocka_unit_test(grows_to_its_limit_and_not_beyond),
		cmocka_unit_test(an_error_stays_and_stops_later_appends),
		cmocka_unit_test(what_is_taken_outlives_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
