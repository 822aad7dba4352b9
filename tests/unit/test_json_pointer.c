#include <string.h>

#include "handlers/json_pointer.h"
#include "tests/with_cmocka.h"

static void expect_place_in(const char *text, size_t length, size_t offset, const char *pointer)
{
	struct json_pointer found;

	assert_true(offset <= length);
	json_pointer_of_offset(text, offset, &found);
	assert_string_equal(found.text, pointer);
	assert_int_equal(found.length, strlen(pointer));
}

static void expect_place(const char *text, size_t offset, const char *pointer)
{
	expect_place_in(text, strlen(text), offset, pointer);
}

/* Behind the first @mark of @text, which is a part of it. */
static void expect_place_of(const char *text, const char *mark, const char *pointer)
{
	const char *found = strstr(text, mark);

	assert_non_null(found);
	expect_place(text, (size_t)(found - text) + strlen(mark), pointer);
}

static void steps_are_escaped(void **state)
{
	struct json_pointer pointer = {0};

	(void)state;
	assert_string_equal(pointer.text, "");
	json_pointer_add_member(&pointer, "a/b~c", 5);
	json_pointer_add_element(&pointer, 0);
	json_pointer_add_element(&pointer, 18446744073709551615u);
	json_pointer_add_member(&pointer, "", 0);
	assert_string_equal(pointer.text, "/a~1b~0c/0/18446744073709551615/");
}

static void a_step_that_does_not_fit_is_left_out_with_those_below_it(void **state)
{
	struct json_pointer pointer = {0};
	char key[JSON_POINTER_BYTES];

	(void)state;
	memset(key, 'k', sizeof(key));
	json_pointer_add_member(&pointer, "a", 1);
	json_pointer_add_member(&pointer, key, JSON_POINTER_BYTES - 3); /* with "/a/" and a NUL */
	assert_string_equal(pointer.text, "/a");
	json_pointer_add_member(&pointer, "b", 1);
	assert_string_equal(pointer.text, "/a");

	pointer = (struct json_pointer){0};
	json_pointer_add_member(&pointer, "a", 1);
	json_pointer_add_member(&pointer, key, JSON_POINTER_BYTES - 4);
	assert_int_equal(strlen(pointer.text), JSON_POINTER_BYTES - 1);
}

static void an_escape_counts_for_what_it_takes(void **state)
{
	struct json_pointer pointer = {0};
	char key[JSON_POINTER_BYTES / 2];

	(void)state;
	memset(key, '/', sizeof(key));
	json_pointer_add_member(&pointer, key, sizeof(key) - 1); /* 1 + 2 × 127 */
	assert_int_equal(pointer.length, JSON_POINTER_BYTES - 1);
	pointer = (struct json_pointer){0};
	json_pointer_add_member(&pointer, key, sizeof(key));
	assert_int_equal(pointer.length, 0);
}

static void the_place_of_a_byte_is_that_of_its_value_or_key(void **state)
{
	static const char text[] =
		"{\"a\": [1, {\"b\\\"c\": \"x,{[\"}, [[]], null], \"d\" : {}, \"e/f\": 3}";

	(void)state;
	expect_place(text, 0, "");
	expect_place(text, 1, "");
	expect_place_of(text, "\"a\"", "/a");
	expect_place_of(text, "[1", "/a/0");
	expect_place_of(text, "b\\\"c\"", "/a/1/b\\\"c");
	expect_place_of(text, "x,{[\"", "/a/1/b\\\"c");
	expect_place_of(text, "x,{[\"}", "/a/1");
	expect_place_of(text, "[[", "/a/2/0/0");
	expect_place_of(text, "null", "/a/3");
	expect_place_of(text, "null]", "/a");
	expect_place_of(text, "\"d\" ", "/d");
	expect_place_of(text, "\"d\" : {", "/d");
	expect_place_of(text, "3", "/e~1f");
	expect_place_of(text, "3}", "");
}

static void what_is_no_json_has_places_too(void **state)
{
	(void)state;
	expect_place("]]}}", 4, "");
	expect_place("{\"a", 3, "");
	expect_place("{\"", 2, "");
	expect_place("{\"a\\", 4, "");
	expect_place("{\"a\"", 4, "/a");
	expect_place("[,,:,]", 4, "/2");
	expect_place(":::", 3, "");
	expect_place("{\"k\xff\":[1]}", 8, "");
	expect_place_in("{\"a\":{\"k\0\":[1]}}", 15, 14, "/a");
}

static void a_place_beyond_64_levels_is_that_of_the_64th(void **state)
{
	char text[80], pointer[2 * 64 + 1] = "";

	(void)state;
	memset(text, '[', sizeof(text));
	for (size_t i = 0; i < 64; i++)
		memcpy(pointer + 2 * i, "/0", 3);
	text[79] = '\0';
	expect_place(text, 64, pointer);
	expect_place(text, 79, pointer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_escaped),
		cmocka_unit_test(a_step_that_does_not_fit_is_left_out_with_those_below_it),
		cmocka_unit_test(an_escape_counts_for_what_it_takes),
		cmocka_unit_test(the_place_of_a_byte_is_that_of_its_value_or_key),
		cmocka_unit_test(what_is_no_json_has_places_too),
		cmocka_unit_test(a_place_beyond_64_levels_is_that_of_the_64th),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
