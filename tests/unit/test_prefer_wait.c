#include <stdint.h>

#include "handlers/prefer_wait.h"
#include "tests/with_cmocka.h"

static void the_seconds_of_the_first_wait_are_taken(void **state)
{
	static const struct {
		const char *prefer;
		uint64_t seconds;
	} cases[] = {
		{"wait=10", 10},
		{"WAIT = 3", 3},
		{"wait=\"7\"", 7},
		{"respond-async, wait=10", 10},
		{"wait=10, respond-async", 10},
		{"wait=10; foo=bar", 10},
		{"wait=2, wait=5", 2},
		{"foo=\"a, wait=1\", wait=0", 0},
		{",, wait=00012", 12},
		{"wait=99999999999", UINT32_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t seconds = 12345;

		if (!prefer_wait_read(cases[i].prefer, &seconds) || seconds != cases[i].seconds)
			fail_msg("%s: %llu", cases[i].prefer, (unsigned long long)seconds);
	}
}

static void what_is_none_or_malformed_is_ignored(void **state)
{
	static const char *const cases[] = {
		NULL,
		"",
		"wait",
		"wait=",
		"wait=-1",
		"wait=1.5",
		"wait=1s",
		"waits=10",
		"await=10",
		"wait=\"3",
		"wait=0x1",
		"foo=\"wait=3",
		"respond-async",
		"wait=18446744073709551616",
		"wait=, wait=3",
	};
	uint64_t seconds = 12345;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (prefer_wait_read(cases[i], &seconds) || seconds != 12345)
			fail_msg("%s", cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_seconds_of_the_first_wait_are_taken),
		cmocka_unit_test(what_is_none_or_malformed_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
