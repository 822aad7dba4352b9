#include <errno.h>
#include <string.h>

#include "handlers/base64.h"
#include "tests/with_cmocka.h"

/* RFC 4648, 10, and bytes of all bits. */
static const struct {
	const char *bytes, *text;
} pairs[] = {
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
	{"\xFB\xFF\xBF", "+/+/"},
	{"\xFF\xFF", "//8="},
};

static void bytes_become_text_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct text_buffer buffer;
		char bytes[16];
		size_t count;

		text_buffer_init(&buffer, 100);
		base64_append(&buffer, pairs[i].bytes, strlen(pairs[i].bytes));
		assert_int_equal(buffer.length, strlen(pairs[i].text));
		if (buffer.length > 0)
			assert_memory_equal(buffer.data, pairs[i].text, buffer.length);
		assert_int_equal(base64_decode(pairs[i].text, buffer.length, bytes, &count), 0);
		assert_int_equal(count, strlen(pairs[i].bytes));
		assert_memory_equal(bytes, pairs[i].bytes, count);
		assert_true(count <= base64_decoded_bytes(buffer.length));
		text_buffer_finish(&buffer);
	}
}

static void long_ones_are_whole(void **state)
{
	static char bytes[1000], decoded[1002];
	struct text_buffer buffer;
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	text_buffer_init(&buffer, 10000);
	base64_append(&buffer, bytes, sizeof(bytes));
	assert_int_equal(buffer.length, (sizeof(bytes) + 2) / 3 * 4);
	assert_int_equal(base64_decode(buffer.data, buffer.length, decoded, &count), 0);
	assert_int_equal(count, sizeof(bytes));
	assert_memory_equal(decoded, bytes, sizeof(bytes));
	text_buffer_finish(&buffer);
}

static void what_is_not_strictly_base64_is_refused(void **state)
{
	static const char *const bad[] = {
		"Z",        "Zg",   "Zg=",  "=",       "==",           "===",
		"====",     "Z===", "Zh==", "Zm9=",    "Zm 9",         "Zm9v\n",
		"Zg==Zg==", "Z=g=", "Zm-_", "Zm9\x80", "Zg==\n\n\n\n",
	};
	char bytes[16];
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (base64_decode(bad[i], strlen(bad[i]), bytes, &count) != -EINVAL)
			fail_msg("%s", bad[i]);
	assert_int_equal(base64_decode("Zm9\0", 4, bytes, &count), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_become_text_and_back),
		cmocka_unit_test(long_ones_are_whole),
		cmocka_unit_test(what_is_not_strictly_base64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
