#include "executors/decimal.h"

#include <string.h>

#include "tests/unit/no_numbers.h"
#include "tests/with_cmocka.h"

static void reads_what_fits_in_64_bits(void **state)
{
	static const struct {
		const char *text;
		uint64_t number;
	} rows[] = {
		{"0", 0},
		{"7", 7},
		{"1000", 1000},
		{"000000000000000000000000000042", 42},
		{"18446744073709551615", UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t number = 99;

		assert_true(decimal_read(rows[i].text, strlen(rows[i].text), &number));
		assert_int_equal(number, rows[i].number);
	}
}

static void refuses_everything_else(void **state)
{
	static const char *const bad[] = {"", NO_NUMBERS};
	uint64_t number = 99;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (decimal_read(bad[i], strlen(bad[i]), &number))
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(number, 99);
}

static void looks_at_no_more_than_its_length(void **state)
{
	uint64_t number = 0;

	(void)state;
	assert_true(decimal_read("123x", 3, &number));
	assert_int_equal(number, 123);
	assert_false(decimal_read("1\0002", 3, &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_fits_in_64_bits),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(looks_at_no_more_than_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
