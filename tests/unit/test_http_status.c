#include "clients/http_status.h"

#include "tests/with_cmocka.h"

static void phrases_are_those_of_the_rfcs(void **state)
{
	(void)state;
	assert_string_equal(http_status_phrase(200), "OK");
	assert_string_equal(http_status_phrase(405), "Method Not Allowed");
	assert_string_equal(http_status_phrase(413), "Content Too Large");
	assert_string_equal(http_status_phrase(505), "HTTP Version Not Supported");
}

static void what_is_no_status_has_a_phrase_all_the_same(void **state)
{
	(void)state;
	assert_string_equal(http_status_phrase(0), "Unknown");
	assert_string_equal(http_status_phrase(299), "Unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phrases_are_those_of_the_rfcs),
		cmocka_unit_test(what_is_no_status_has_a_phrase_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
