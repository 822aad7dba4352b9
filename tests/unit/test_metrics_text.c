#include "server/metrics_text.h"

#include <math.h>
#include <string.h>

#include "server/request_durations.h"
#include "tests/with_cmocka.h"

/* Take @text as an answer, and compare its body. */
static void assert_text(struct metrics_text *text, const char *expected)
{
	struct response response = {0};

	metrics_answer(text, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
	assert_int_equal(response.body_len, strlen(expected));
	assert_memory_equal(response.body, expected, response.body_len);
	response_finish(&response);
}

static void prints_families_and_samples(void **state)
{
	struct metrics_text text;

	(void)state;
	metrics_text_init(&text);
	metrics_family(&text, "a_total", "counter", "What it is.");
	metrics_sample(&text, "a_total", NULL, 9007199254740992.0);
	metrics_sample(&text, "a_total", (const char *[]){"x", "1", "y", "z", NULL}, 0.5);
	assert_text(&text, "# HELP a_total What it is.\n"
	                   "# TYPE a_total counter\n"
	                   "a_total 9007199254740992\n"
	                   "a_total{x=\"1\",y=\"z\"} 0.5\n");
}

static void escapes_label_values(void **state)
{
	struct metrics_text text;

	(void)state;
	metrics_text_init(&text);
	metrics_sample(&text, "a", (const char *[]){"l", "\"quoted\" \\ and\nbroken", NULL}, 1);
	assert_text(&text, "a{l=\"\\\"quoted\\\" \\\\ and\\nbroken\"} 1\n");
}

static void prints_what_is_no_number_as_the_format_wants(void **state)
{
	struct metrics_text text;

	(void)state;
	metrics_text_init(&text);
	metrics_sample(&text, "a", NULL, INFINITY);
	metrics_sample(&text, "a", NULL, -INFINITY);
	metrics_sample(&text, "a", NULL, NAN);
	assert_text(&text, "a +Inf\na -Inf\na NaN\n");
}

static void prints_a_histogram_with_cumulative_buckets(void **state)
{
	static struct request_durations durations = {.route = "/x"};
	struct metrics_text text;
	struct response response = {0};

	(void)state;
	metrics_text_init(&text);
	request_durations_add(&durations, 200, 5000000);
	request_durations_add(&durations, 200, 5000001);
	request_durations_add(&durations, 200, 60 * INT64_C(1000000000));
	request_durations_print(&durations, &text);
	metrics_answer(&text, &response);
	assert_non_null(memmem(response.body, response.body_len, "le=\"0.005\"} 1\n", 14));
	assert_non_null(memmem(response.body, response.body_len, "le=\"0.01\"} 2\n", 13));
	assert_non_null(memmem(response.body, response.body_len, "le=\"10\"} 2\n", 11));
	assert_non_null(memmem(response.body, response.body_len, "le=\"+Inf\"} 3\n", 13));
	assert_non_null(memmem(response.body, response.body_len, "_sum{http_route=\"/x\"", 20));
	assert_non_null(memmem(response.body, response.body_len, "} 60.010000001\n", 15));
	assert_non_null(memmem(response.body, response.body_len,
	                       "_count{http_route=\"/x\",http_response_status_code=\"200\"} 3\n",
	                       58));
	/* A status that nobody has seen has no samples. */
	assert_null(memmem(response.body, response.body_len, "\"404\"", 5));
	response_finish(&response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_families_and_samples),
		cmocka_unit_test(escapes_label_values),
		cmocka_unit_test(prints_what_is_no_number_as_the_format_wants),
		cmocka_unit_test(prints_a_histogram_with_cumulative_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
