#include <limits.h>
#include <string.h>

#include "clients/retry_after.h"
#include "tests/with_cmocka.h"

/* Sun, 06 Nov 1994 08:49:37 GMT: the example of RFC 9110, 5.6.7. */
enum { EXAMPLE = 784111777 };

static unsigned seconds_of(const char *value, time_t now)
{
	unsigned seconds = 4711;

	if (!retry_after_read(value, strlen(value), now, &seconds))
		fail_msg("\"%s\" is not read", value);
	return seconds;
}

static void seconds_are_what_they_are(void **state)
{
	(void)state;
	assert_int_equal(seconds_of("0", EXAMPLE), 0);
	assert_int_equal(seconds_of("120", EXAMPLE), 120);
	assert_int_equal(seconds_of("007", EXAMPLE), 7);
	assert_int_equal(seconds_of("4294967295", EXAMPLE), UINT_MAX);
	assert_int_equal(seconds_of("4294967296", EXAMPLE), UINT_MAX);
	assert_int_equal(seconds_of("99999999999999999999999999", EXAMPLE), UINT_MAX);
}

static void dates_are_seconds_from_now(void **state)
{
	static const char *const forms[] = {
		"Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		assert_int_equal(seconds_of(forms[i], EXAMPLE), 0);
		assert_int_equal(seconds_of(forms[i], EXAMPLE - 90), 90);
		assert_int_equal(seconds_of(forms[i], EXAMPLE + 90), 0);
	}
	assert_int_equal(seconds_of("Wed, 29 Feb 2040 00:00:00 GMT", 2214086340), 60);
	assert_int_equal(seconds_of("Thu, 01 Jan 1970 00:00:00 GMT", 0), 0);
	assert_int_equal(seconds_of("Fri, 31 Dec 9999 23:59:59 GMT", EXAMPLE), UINT_MAX);
}

static void anything_else_says_nothing(void **state)
{
	static const char *const bad[] = {
		"",
		"-1",
		"+1",
		"1.5",
		"1 s",
		"0x10",
		"soon",
		"Sun, 06 Nov 1994 08:49:37 CET",
		"Sun, 06 Nov 1994",
		"Sun, 06 Nov 1994 08:49:37 GMT, 120",
		"Sun, 32 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 25:49:37 GMT",
		"Sun, 06 Foo 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 GMT and a long tail that no date has",
	};
	unsigned seconds = 4711;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (retry_after_read(bad[i], strlen(bad[i]), EXAMPLE, &seconds))
			fail_msg("\"%s\" is read as %u", bad[i], seconds);
	assert_int_equal(seconds, 4711);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_are_what_they_are),
		cmocka_unit_test(dates_are_seconds_from_now),
		cmocka_unit_test(anything_else_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
