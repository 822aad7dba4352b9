#include "clients/upstream_settings.h"

#include <stdlib.h>
#include <string.h>

#include "tests/with_cmocka.h"

static const struct http_header headers[] = {{"A", "1"}, {"B", "2"}};
static struct http_client client;

static struct upstream_settings full(void)
{
	return (struct upstream_settings){
		.name = "stock",
		.url = "https://stock:8443",
		.timeout_ms = 500,
		.headers = headers,
		.header_count = 2,
		.limits = {.permits = 1, .permit_wait_ms = 2, .per_second = 3},
		.retry = {.attempts = 3, .base_ms = 50, .max_ms = 1000},
		.breaker = {.error_percent = 50,
	                    .min_calls = 20,
	                    .window_ms = 2000,
	                    .open_ms = 1000},
		.hedge = {.percentile = 95, .budget_percent = 5},
		.wire = {.connect_timeout_ms = 1000, .ca_file = "/ca.pem", .http2 = true},
		.client = &client,
	};
}

static void a_copy_is_equal_and_has_its_own_texts(void **state)
{
	struct upstream_settings settings = full(), *copy = NULL;

	(void)state;
	assert_int_equal(upstream_settings_copy(&settings, &copy), 0);
	assert_true(upstream_settings_are_equal(&settings, copy));
	assert_ptr_not_equal(copy->name, settings.name);
	assert_ptr_not_equal(copy->url, settings.url);
	assert_ptr_not_equal(copy->wire.ca_file, settings.wire.ca_file);
	assert_ptr_not_equal(copy->headers, settings.headers);
	for (size_t i = 0; i < 2; i++) {
		assert_ptr_not_equal(copy->headers[i].name, headers[i].name);
		assert_ptr_not_equal(copy->headers[i].value, headers[i].value);
	}
	free(copy);
}

static void what_is_not_there_is_copied_as_such(void **state)
{
	struct upstream_settings settings = {.timeout_ms = 1}, *copy = NULL;

	(void)state;
	assert_int_equal(upstream_settings_copy(&settings, &copy), 0);
	assert_null(copy->name);
	assert_null(copy->url);
	assert_null(copy->wire.ca_file);
	assert_int_equal(copy->header_count, 0);
	assert_true(upstream_settings_are_equal(&settings, copy));
	free(copy);
}

/* Expect that @field with this @value makes a difference. */
#define ASSERT_COUNTS(field, value)                                                                \
	do {                                                                                       \
		struct upstream_settings settings = full(), other = full();                        \
                                                                                                   \
		other.field = (value);                                                             \
		assert_false(upstream_settings_are_equal(&settings, &other));                      \
		assert_false(upstream_settings_are_equal(&other, &settings));                      \
	} while (0)

static void each_setting_makes_a_difference(void **state)
{
	(void)state;
	ASSERT_COUNTS(name, "stocks");
	ASSERT_COUNTS(name, NULL);
	ASSERT_COUNTS(url, "https://stock:8444");
	ASSERT_COUNTS(url, NULL);
	ASSERT_COUNTS(timeout_ms, 501);
	ASSERT_COUNTS(header_count, 1);
	ASSERT_COUNTS(limits.permits, 0);
	ASSERT_COUNTS(limits.permit_wait_ms, 0);
	ASSERT_COUNTS(limits.per_second, 0);
	ASSERT_COUNTS(retry.attempts, 0);
	ASSERT_COUNTS(retry.base_ms, 0);
	ASSERT_COUNTS(retry.max_ms, 0);
	ASSERT_COUNTS(breaker.error_percent, 0);
	ASSERT_COUNTS(breaker.min_calls, 0);
	ASSERT_COUNTS(breaker.window_ms, 0);
	ASSERT_COUNTS(breaker.open_ms, 0);
	ASSERT_COUNTS(hedge.percentile, 0);
	ASSERT_COUNTS(hedge.budget_percent, 0);
	ASSERT_COUNTS(wire.connect_timeout_ms, 0);
	ASSERT_COUNTS(wire.ca_file, NULL);
	ASSERT_COUNTS(wire.ca_file, "/other.pem");
	ASSERT_COUNTS(wire.insecure, true);
	ASSERT_COUNTS(wire.http2, false);
	ASSERT_COUNTS(client, NULL);
}

static void each_header_makes_a_difference(void **state)
{
	struct http_header same[] = {{"A", "1"}, {"B", "2"}}, name[] = {{"A", "1"}, {"C", "2"}},
			   value[] = {{"A", "3"}, {"B", "2"}}, order[] = {{"B", "2"}, {"A", "1"}};
	struct upstream_settings settings = full(), other = full();

	(void)state;
	other.headers = same;
	assert_true(upstream_settings_are_equal(&settings, &other));
	other.headers = name;
	assert_false(upstream_settings_are_equal(&settings, &other));
	other.headers = value;
	assert_false(upstream_settings_are_equal(&settings, &other));
	other.headers = order;
	assert_false(upstream_settings_are_equal(&settings, &other));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_copy_is_equal_and_has_its_own_texts),
		cmocka_unit_test(what_is_not_there_is_copied_as_such),
		cmocka_unit_test(each_setting_makes_a_difference),
		cmocka_unit_test(each_header_makes_a_difference),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
