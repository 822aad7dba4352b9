#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/refusals.h"
#include "tests/unit/config_fixture.h"
#include "tests/with_cmocka.h"

/* A configuration that is right but for memory is refused, and why is said; nothing is left behind,
 * which the sanitizers see. */

/* The library's own calls are not refused anything: it asks us. */
static void *allocate(size_t bytes)
{
	return malloc(bytes);
}

/* jansson takes a word that it has no memory for as one that is wrong. */
static bool says_why(void)
{
	return strstr(config_error, "memory") || strstr(config_error, " near '");
}

static void reads_all_of_a_file_or_says_that_there_is_no_memory(void **state)
{
	static const char text[] =
		"{\"queue\": 7, \"compare\": true, \"upstreams\": {\"stock\": {\"url\": "
		"\"http://a\",\n"
		"  \"headers\": {\"A\": {\"env\": \"B\"}, \"C\": \"d\"}, \"retry\": {}},\n"
		"  \"other\": {\"url\": \"http://b\"}}, \"allow\": [\"https://a\", "
		"\"https://b:1\"]}";
	char *environment[] = {"B=c", NULL};
	struct config config;
	unsigned refused;

	(void)state;
	json_set_alloc_funcs(allocate, free);
	config_write(text, strlen(text));
	for (unsigned k = 1;; k++) {
		int error;

		refuse(REFUSE_MEMORY, k);
		error = config_parse_file(NULL, environment, &config);
		refused = refusals_end();
		if (!error) {
			assert_int_equal(config.upstream_count, 2);
			config_finish(&config);
		} else {
			assert_true(says_why());
		}
		assert_int_equal(error != 0, refused > 0);
		if (refused == 0)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_of_a_file_or_says_that_there_is_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
