#include "handlers/query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/no_numbers.h"
#include "tests/with_cmocka.h"

static const char *const colours[] = {"red", "green", "blue", NULL};

enum { N, DELAY, WIDE, COLOUR, SECRET, COUNT };

static struct query_parameter table[COUNT];
static struct query_error error;

static int fresh_table(void **state)
{
	(void)state;
	memset(&error, 0, sizeof(error));
	memset(table, 0, sizeof(table));
	table[N] = (struct query_parameter){"n", .required = true, .min = 1, .max = 100000};
	table[DELAY] = (struct query_parameter){"delay_ms", .max = 600000, .number = 1000};
	table[WIDE] = (struct query_parameter){"wide", .max = UINT64_MAX};
	table[COLOUR] = (struct query_parameter){"colour", QUERY_WORD, .words = colours};
	table[SECRET] = (struct query_parameter){"secret", .max = 1, .refused = "needs --open"};
	return 0;
}

static void expect_read(const char *query)
{
	fresh_table(NULL);
	if (query_read(query, table, COUNT, &error))
		fail_msg("%s: %s", query, error.text);
}

static void expect_refused(const char *query, const char *parameter, const char *text)
{
	fresh_table(NULL);
	if (query_read(query, table, COUNT, &error) != -EINVAL)
		fail_msg("%s was accepted", query);
	assert_string_equal(error.parameter, parameter);
	assert_string_equal(error.text, text);
}

static void expect_n_refused(const char *value, const char *text)
{
	char query[64];
	int length = snprintf(query, sizeof(query), "n=%s", value);

	assert_in_range(length, 3, sizeof(query) - 1);
	expect_refused(query, "n", text);
}

static void reads_what_is_given_and_keeps_defaults(void **state)
{
	(void)state;
	expect_read("n=7");
	assert_true(table[N].given && table[N].number == 7);
	assert_true(!table[DELAY].given && table[DELAY].number == 1000);
	assert_true(!table[COLOUR].given && !table[COLOUR].word);

	expect_read("colour=blue&delay_ms=0&n=100000");
	assert_int_equal(table[N].number, 100000);
	assert_true(table[DELAY].given && table[DELAY].number == 0);
	assert_ptr_equal(table[COLOUR].word, colours[2]);
}

static void reads_numbers_to_the_last_bit(void **state)
{
	(void)state;
	expect_read("n=1&wide=18446744073709551615");
	assert_true(table[WIDE].number == UINT64_MAX);
	expect_read("n=00000000000000000000000000000000000000000000000000000042");
	assert_int_equal(table[N].number, 42);
}

static void decodes_names_and_values_once(void **state)
{
	(void)state;
	expect_read("%6e=%31%30&colour=%67reen");
	assert_int_equal(table[N].number, 10);
	assert_string_equal(table[COLOUR].word, "green");
	expect_refused("n=%2531", "n", "n must be a whole number from 1 to 100000");
	expect_refused("n=1%261", "n", "n must be a whole number from 1 to 100000");
	expect_refused("n%3D1", "n%3D1", "n%3D1 has no '=' and value");
}

static void refuses_what_is_not_a_plain_number(void **state)
{
	static const char *const values[] = {NO_NUMBERS, "0",   "100001", "%2B1", "%201",
	                                     "1=",       "1=2", "%D9%A1", "1;n=2"};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		expect_n_refused(values[i], "n must be a whole number from 1 to 100000");
}

static void refuses_a_number_beyond_64_bits_even_where_all_64_are_allowed(void **state)
{
	static const char text[] = "wide must be a whole number from 0 to 18446744073709551615";

	(void)state;
	expect_refused("n=1&wide=18446744073709551616", "wide", text);
	expect_refused("n=1&wide=184467440737095516150", "wide", text);
}

static void refuses_what_is_missing_or_empty(void **state)
{
	(void)state;
	expect_refused("", "n", "n is missing");
	expect_refused("delay_ms=5", "n", "n is missing");
	expect_refused("n=", "n", "n is empty");
	expect_refused("n=1&colour=", "colour", "colour is empty");
	expect_refused("n", "n", "n has no '=' and value");
	expect_refused("n&delay_ms=1", "n", "n has no '=' and value");
	expect_refused("=1", "", "a value in the query has no name");
	expect_refused("=", "", "a value in the query has no name");
	expect_refused("n=1&", "", "the query has an empty part");
	expect_refused("&n=1", "", "the query has an empty part");
	expect_refused("n=1&&delay_ms=1", "", "the query has an empty part");
}

static void refuses_what_is_given_twice(void **state)
{
	(void)state;
	expect_refused("n=1&n=1", "n", "n is given twice");
	expect_refused("n=1&%6E=1", "n", "n is given twice");
	expect_refused("n=1&colour=red&colour=blue", "colour", "colour is given twice");
}

static void refuses_bad_percent_escapes(void **state)
{
	static const char *const values[] = {"%",   "1%",   "%3",  "%zz", "%3g",
	                                     "%g3", "%%31", "% 1", "1%00"};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		expect_n_refused(values[i], "n has a bad percent-escape");
	expect_refused("%zz=1", "%zz", "the name %zz has a bad percent-escape");
	expect_refused("n%00=1", "n%00", "the name n%00 has a bad percent-escape");
}

static void refuses_unknown_names_and_words(void **state)
{
	(void)state;
	expect_refused("n=1&m=2", "m", "m is not a parameter of this path");
	expect_refused("N=1", "N", "N is not a parameter of this path");
	expect_refused("n+=1", "n+", "n+ is not a parameter of this path");
	expect_refused("n=1&colour=Red", "colour", "colour must be red, green or blue");
	expect_refused("n=1&colour=re", "colour", "colour must be red, green or blue");
	expect_refused("n=1&secret=1", "secret", "secret needs --open");
}

static void shows_any_name_as_short_printable_ascii(void **state)
{
	char query[400];

	(void)state;
	expect_refused("caf\xc3\xa9=1", "caf%C3%A9", "caf%C3%A9 is not a parameter of this path");
	expect_refused("\xff\x01\x7f =1", "%FF%01%7F%20",
	               "%FF%01%7F%20 is not a parameter of this path");

	memset(query, '\xfe', sizeof(query));
	memcpy(query + sizeof(query) - 3, "=1", 3);
	fresh_table(NULL);
	assert_int_equal(query_read(query, table, COUNT, &error), -EINVAL);
	assert_in_range(strlen(error.parameter), 50, QUERY_NAME_BYTES - 1);
	assert_string_equal(error.parameter + strlen(error.parameter) - 6, "%FE...");
}

static void a_long_value_is_not_read_by_its_beginning(void **state)
{
	char query[200] = "n=1&delay_ms=";
	size_t length = strlen(query);

	(void)state;
	memset(query + length, '0', 100);
	query[length + 99] = '5';
	expect_refused(query, "delay_ms", "delay_ms has too long a value");
}

static void peeks_at_one_parameter(void **state)
{
	char value[8];

	(void)state;
	assert_int_equal(query_peek("n=1&executor=pool", "executor", value, sizeof(value)), 0);
	assert_string_equal(value, "pool");
	assert_int_equal(query_peek("%65xecutor=p%6Fol&n=", "executor", value, sizeof(value)), 0);
	assert_string_equal(value, "pool");
	assert_int_equal(query_peek("", "executor", value, sizeof(value)), -ENOENT);
	assert_int_equal(query_peek("n=1&executors=pool&%zz", "executor", value, sizeof(value)),
	                 -ENOENT);
	assert_string_equal(value, "");
}

static void a_peek_refuses_what_a_read_will_refuse(void **state)
{
	static const char *const queries[] = {"executor", "executor=", "executor=p%zzl",
	                                      "executor=12345678", "executor=p%00"};
	char value[8];

	(void)state;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		memcpy(value, "before", sizeof("before"));
		assert_int_equal(query_peek(queries[i], "executor", value, sizeof(value)), -EINVAL);
		assert_string_equal(value, "");
	}
	assert_int_equal(query_peek("executor=1234567", "executor", value, sizeof(value)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_is_given_and_keeps_defaults),
		cmocka_unit_test(reads_numbers_to_the_last_bit),
		cmocka_unit_test(decodes_names_and_values_once),
		cmocka_unit_test(refuses_what_is_not_a_plain_number),
		cmocka_unit_test(refuses_a_number_beyond_64_bits_even_where_all_64_are_allowed),
		cmocka_unit_test(refuses_what_is_missing_or_empty),
		cmocka_unit_test(refuses_what_is_given_twice),
		cmocka_unit_test(refuses_bad_percent_escapes),
		cmocka_unit_test(refuses_unknown_names_and_words),
		cmocka_unit_test(shows_any_name_as_short_printable_ascii),
		cmocka_unit_test(a_long_value_is_not_read_by_its_beginning),
		cmocka_unit_test(peeks_at_one_parameter),
		cmocka_unit_test(a_peek_refuses_what_a_read_will_refuse),
	};

	return cmocka_run_group_tests(tests, fresh_table, NULL);
}
