#include <string.h>

#include "handlers/utf8.h"
#include "tests/with_cmocka.h"

static const struct {
	const char *text;
	bool is_valid;
} cases[] = {
	{"", true},
	{"plain, and more than eight bytes of it", true},
	{"\xC2\x80", true},
	{"\xDF\xBF", true},
	{"\xE0\xA0\x80", true},
	{"\xED\x9F\xBF", true},
	{"\xEE\x80\x80", true},
	{"\xEF\xBF\xBF", true},
	{"\xF0\x90\x80\x80", true},
	{"\xF4\x8F\xBF\xBF", true},
	{"1234567\xC3\xA4"
         "1234567\xE2\x82\xAC",
         true},

	{"\x80", false},             /* not a first byte */
	{"\xC0\x80", false},         /* overlong */
	{"\xC1\xBF", false},         /* overlong */
	{"\xE0\x9F\xBF", false},     /* overlong */
	{"\xF0\x8F\xBF\xBF", false}, /* overlong */
	{"\xED\xA0\x80", false},     /* a surrogate */
	{"\xF4\x90\x80\x80", false}, /* beyond U+10FFFF */
	{"\xF5\x80\x80\x80", false},
	{"\xFF", false},
	{"\xC3", false}, /* cut off */
	{"\xE2\x82", false},
	{"\xF0\x9F\x98", false},
	{"\xC3(", false}, /* not a later byte */
	{"\xE2\x82(", false},
	{"\xF0\x9F\x98(", false},
	{"12345678\xFF", false},
	{"1234567\xFF"
         "2345678",
         false},
};

static void only_whole_and_shortest_characters_are_valid(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (utf8_is_valid(cases[i].text, strlen(cases[i].text)) != cases[i].is_valid)
			fail_msg("case %zu", i);
}

static void a_nul_is_a_character(void **state)
{
	(void)state;
	assert_true(utf8_is_valid("a\0b", 3));
	assert_true(utf8_is_valid("\0\0\0\0\0\0\0\0", 8));
}

static void what_lies_beyond_the_length_is_not_looked_at(void **state)
{
	(void)state;
	assert_false(utf8_is_valid("\xE2\x82\xAC", 2));
	assert_true(utf8_is_valid("a\xFF", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_and_shortest_characters_are_valid),
		cmocka_unit_test(a_nul_is_a_character),
		cmocka_unit_test(what_lies_beyond_the_length_is_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
