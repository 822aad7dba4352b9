#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/handler.h"
#include "tests/fakes/refusals.h"
#include "tests/with_cmocka.h"

static void expect_body(const struct response *response, const char *body)
{
	assert_non_null(response->body);
	assert_int_equal(response->body_len, strlen(body));
	assert_memory_equal(response->body, body, response->body_len);
}

static void expect_bare_500(struct response *response)
{
	assert_int_equal(response->status, 500);
	assert_null(response->body);
	assert_int_equal(response->body_len, 0);
	response_finish(response);
}

static void json_is_answered_compactly_in_order(void **state)
{
	struct response response = {0};

	(void)state;
	response_json(&response, 201, json_pack("{s:i, s:n}", "z", 1, "a"));
	assert_int_equal(response.status, 201);
	assert_string_equal(response.content_type, "application/json");
	expect_body(&response, "{\"z\":1,\"a\":null}");
	assert_null(response.headers);
	response_finish(&response);
}

static void numbers_have_no_more_digits_than_are_sure(void **state)
{
	struct response response = {0};

	(void)state;
	response_json(&response, 200, json_pack("[f, f, f]", 503.3, 0.1, 123456789012.3));
	assert_string_equal(response.body, "[503.3,0.1,123456789012.3]");
	response_finish(&response);
}

static void a_failed_json_is_a_bare_500(void **state)
{
	struct response response = {0};

	(void)state;
	response_json(&response, 200, NULL);
	expect_bare_500(&response);
	response_json(&response, 200, json_pack("{s:s}", "name", "\xff"));
	expect_bare_500(&response);
}

static void a_problem_has_the_members_of_rfc_9457(void **state)
{
	struct response response = {0};

	(void)state;
	response_problem(&response, 400, "n", "n must be at most %d", 5);
	assert_int_equal(response.status, 400);
	assert_string_equal(response.content_type, "application/problem+json");
	expect_body(&response, "{\"title\":\"Bad Request\",\"status\":400,"
	                       "\"detail\":\"n must be at most 5\",\"parameter\":\"n\"}");
	response_finish(&response);

	response_problem(&response, 503, NULL, "full");
	expect_body(&response,
	            "{\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"full\"}");
	response_finish(&response);
}

static void a_problem_escapes_its_detail(void **state)
{
	struct response response = {0};

	(void)state;
	response_problem(&response, 404, NULL, "no %s here", "\"/a\\b\"\n\xc3\xa9");
	expect_body(&response, "{\"title\":\"Not Found\",\"status\":404,"
	                       "\"detail\":\"no \\\"/a\\\\b\\\"\\n\xc3\xa9 here\"}");
	response_finish(&response);
	response_problem(&response, 404, NULL, "no %s here", "\xff");
	expect_bare_500(&response);
}

static void a_later_answer_replaces_an_earlier_one(void **state)
{
	struct response response = {0};

	(void)state;
	response_problem(&response, 503, NULL, "full");
	response_add_header(&response, "Retry-After", "1");
	assert_string_equal(response_header(&response, "retry-after"), "1");
	response_json(&response, 200, json_object());
	expect_body(&response, "{}");
	assert_null(response.headers);
	response_finish(&response);
	assert_int_equal(response.status, 0);
	assert_null(response.body);
	response_finish(&response);
}

static void headers_are_copied_and_any_number_of_them_is_kept_in_order(void **state)
{
	struct response response = {0};
	const char *header_name, *value;
	char text[16];
	size_t place = 0;

	(void)state;
	response_json(&response, 200, json_object());
	for (int i = 0; i < 100; i++) {
		assert_true(snprintf(text, sizeof(text), "%d", i) > 0);
		response_add_header(&response, "X-Number", text);
	}
	for (int i = 0; i < 100; i++) {
		assert_true(snprintf(text, sizeof(text), "%d", i) > 0);
		assert_true(response_next_header(&response, &place, &header_name, &value));
		assert_string_equal(header_name, "X-Number");
		assert_string_equal(value, text);
	}
	assert_false(response_next_header(&response, &place, &header_name, &value));
	assert_string_equal(response_header(&response, "x-number"), "0");
	assert_null(response_header(&response, "x-numb"));
	response_finish(&response);
}

static void a_header_that_there_is_no_memory_for_is_a_bare_500(void **state)
{
	struct response response = {0};

	(void)state;
	response_json(&response, 200, json_object());
	response_add_header(&response, "A", "b");
	refuse(REFUSE_MEMORY, 1);
	response_add_header(&response, "C", "d");
	assert_int_equal(refusals_end(), 1);
	assert_null(response.headers);
	expect_bare_500(&response);
}

/* Fails the @left'th allocation from now. */
static int left;

static void *failing_malloc(size_t size)
{
	return left-- == 0 ? NULL : malloc(size);
}

static void memory_that_runs_out_is_a_bare_500_at_each_step(void **state)
{
	struct response response = {0};
	int failures = 0;

	(void)state;
	json_set_alloc_funcs(failing_malloc, free);
	for (left = failures; response.status != 400; left = ++failures) {
		response_finish(&response);
		response_problem(&response, 400, "n", "wrong");
		assert_true(response.status == 400 || response.status == 500);
		assert_true((response.status == 400) == (response.body != NULL));
		assert_in_range(failures, 0, 1000);
	}
	json_set_alloc_funcs(malloc, free);
	assert_true(failures > 3);
	response_finish(&response);
}

struct counted_handler {
	struct handler handler;
	int destroyed;
};

static void count_destroy(struct handler *handler)
{
	((struct counted_handler *)handler)->destroyed++;
}

static void destroying_a_handler_is_its_own_business(void **state)
{
	struct counted_handler counted = {.handler.destroy = count_destroy};

	(void)state;
	handler_destroy(NULL);
	handler_destroy(&counted.handler);
	assert_int_equal(counted.destroyed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_answered_compactly_in_order),
		cmocka_unit_test(numbers_have_no_more_digits_than_are_sure),
		cmocka_unit_test(a_failed_json_is_a_bare_500),
		cmocka_unit_test(a_problem_has_the_members_of_rfc_9457),
		cmocka_unit_test(a_problem_escapes_its_detail),
		cmocka_unit_test(a_later_answer_replaces_an_earlier_one),
		cmocka_unit_test(headers_are_copied_and_any_number_of_them_is_kept_in_order),
		cmocka_unit_test(a_header_that_there_is_no_memory_for_is_a_bare_500),
		cmocka_unit_test(memory_that_runs_out_is_a_bare_500_at_each_step),
		cmocka_unit_test(destroying_a_handler_is_its_own_business),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
