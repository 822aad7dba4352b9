#include "handlers/request_context.h"

#include <string.h>

#include "tests/with_cmocka.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"
#define ONE "traceparent\0"

static const uint64_t numbers[4] = {0x123, 2, 3, 0};

static struct request_context context_of(const char *headers)
{
	static struct request request;
	struct request_context context;

	request = (struct request){.headers = headers};
	request_context_init(&context, &request, numbers);
	return context;
}

/* Without the span id, which is not to be foreseen. */
static void expect_trace(const struct request_context *context, const char *trace,
                         const char *flags)
{
	char text[TRACEPARENT_BYTES];

	request_context_traceparent(context, text);
	assert_int_equal(strlen(text), TRACEPARENT_BYTES - 1);
	assert_memory_equal(text, "00-", 3);
	assert_memory_equal(text + 3, trace, 32);
	assert_int_equal(text[35], '-');
	assert_int_equal(strspn(text + 36, "0123456789abcdef"), 16);
	assert_int_equal(text[52], '-');
	assert_string_equal(text + 53, flags);
}

static void headers_are_found_in_any_case_and_one_after_the_other(void **state)
{
	struct request request = {.headers = "Accept\0a\0x-b\0accept\0ACCEPT\0\0accept\0c\0"};
	const char *value = request_header(&request, "accept");

	(void)state;
	assert_string_equal(value, "a");
	value = request_header_next(&request, "accept", value);
	assert_string_equal(value, "");
	value = request_header_next(&request, "accept", value);
	assert_string_equal(value, "c");
	assert_null(request_header_next(&request, "accept", value));
	assert_string_equal(request_header(&request, "X-B"), "accept");
	assert_null(request_header(&request, "a"));
	request.headers = NULL;
	assert_null(request_header(&request, "accept"));
}

static void a_request_that_says_nothing_gets_an_id_and_a_trace_of_its_own(void **state)
{
	static const uint64_t zeros[4];
	struct request request = {0};
	struct request_context context;

	(void)state;
	request_context_init(&context, &request, numbers);
	assert_string_equal(context.request_id, "00000000000001230000000000000002");
	expect_trace(&context, "00000000000000030000000000000001", "00");
	assert_null(context.tracestate);
	/* An id of zeros alone is none. */
	request_context_init(&context, &request, zeros);
	expect_trace(&context, "00000000000000000000000000000001", "00");
}

static void a_sane_request_id_is_kept_and_another_replaced(void **state)
{
	char longest[REQUEST_ID_MAX + sizeof("x-request-id\0\0") + 1] = "x-request-id";
	char *id = longest + sizeof("x-request-id");
	static const char *const insane[] = {
		"x-request-id\0\0",
		"x-request-id\0a b\0",
		"x-request-id\0a\"b\0",
		"x-request-id\0a=\xe9\0",
		"x-request-id\0a\0x-request-id\0b\0",
	};

	(void)state;
	assert_string_equal(context_of("X-Request-ID\0Az09-._~+/=:@\0").request_id,
	                    "Az09-._~+/=:@");
	memset(id, 'a', REQUEST_ID_MAX);
	assert_ptr_equal(context_of(longest).request_id, id);
	memset(id, 'a', REQUEST_ID_MAX + 1);
	assert_ptr_not_equal(context_of(longest).request_id, id);
	for (size_t i = 0; i < sizeof(insane) / sizeof(insane[0]); i++) {
		struct request_context context = context_of(insane[i]);

		assert_string_equal(context.made_id, "00000000000001230000000000000002");
	}
}

static void a_valid_traceparent_is_continued(void **state)
{
	static const struct {
		const char *headers, *flags;
	} cases[] = {
		{ONE "00-" TRACE "-" SPAN "-01\0", "01"},
		{ONE "00-" TRACE "-" SPAN "-00\0", "00"},
		{ONE "00-" TRACE "-" SPAN "-0a\0", "00"},
		{ONE "00-" TRACE "-" SPAN "-ff\0", "01"},
		{ONE "cc-" TRACE "-" SPAN "-01\0", "01"},
		{ONE "cc-" TRACE "-" SPAN "-01-what comes later\0", "01"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request_context context = context_of(cases[i].headers);

		expect_trace(&context, TRACE, cases[i].flags);
	}
}

static void an_invalid_traceparent_is_as_good_as_none(void **state)
{
	static const char *const cases[] = {
		ONE "\0",
		ONE "0\0",
		ONE "00\0",
		ONE "00-" TRACE "\0",
		ONE "00-" TRACE "-" SPAN "\0",
		ONE "00-" TRACE "-" SPAN "-\0",
		ONE "00-" TRACE "-" SPAN "-1\0",
		ONE "00-" TRACE "-" SPAN "-01-\0",
		ONE "00-" TRACE "-" SPAN "-01.\0",
		ONE "cc-" TRACE "-" SPAN "-01.what\0",
		ONE "ff-" TRACE "-" SPAN "-01\0",
		ONE "0g-" TRACE "-" SPAN "-01\0",
		ONE "00-" TRACE "-" SPAN "-0G\0",
		ONE "00-00000000000000000000000000000000-" SPAN "-01\0",
		ONE "00-" TRACE "-0000000000000000-01\0",
		ONE "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01\0",
		ONE "00_" TRACE "-" SPAN "-01\0",
		ONE " 00-" TRACE "-" SPAN "-01\0",
		ONE "00-" TRACE "-" SPAN "-01\0" ONE "00-" TRACE "-" SPAN "-01\0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request_context context = context_of(cases[i]);

		expect_trace(&context, "00000000000000030000000000000001", "00");
	}
}

static void tracestate_goes_along_with_the_trace_it_belongs_to(void **state)
{
	struct request_context_call call;
	struct request_context context;

	(void)state;
	context = context_of("tracestate\0a=1\0" ONE "00-" TRACE "-" SPAN "-01\0");
	request_context_call(&context, 0, &call);
	assert_string_equal(call.tracestate, "a=1");
	assert_null(context_of("tracestate\0a=1\0").tracestate);
	assert_null(context_of("tracestate\0a=1\0" ONE "00-" TRACE "-" SPAN "-0\0").tracestate);
	assert_null(
		context_of("tracestate\0a=1\0tracestate\0b=2\0" ONE "00-" TRACE "-" SPAN "-01\0")
			.tracestate);
}

/* Thousands of calls each send it. */
static void a_long_tracestate_is_left_out(void **state)
{
	static const char before[] = ONE "00-" TRACE "-" SPAN "-01\0tracestate";
	char headers[sizeof(before) + TRACESTATE_MAX + sizeof("a\0")] = {0};
	char *value = headers + sizeof(before);
	struct request_context context;

	(void)state;
	memcpy(headers, before, sizeof(before));
	memset(value, 'a', TRACESTATE_MAX);
	assert_ptr_equal(context_of(headers).tracestate, value);
	value[TRACESTATE_MAX] = 'a';
	context = context_of(headers);
	assert_null(context.tracestate);
	assert_string_equal(context.trace_id, TRACE);
}

static void every_call_has_a_span_of_its_own_in_the_same_trace(void **state)
{
	struct request_context context = context_of(ONE "00-" TRACE "-" SPAN "-01\0");
	struct request_context_call calls[100];
	char own[TRACEPARENT_BYTES];

	(void)state;
	request_context_traceparent(&context, own);
	for (size_t i = 0; i < 100; i++) {
		request_context_call(&context, i, &calls[i]);
		assert_memory_equal(calls[i].traceparent, own, 36);
		assert_string_equal(calls[i].traceparent + 52, "-01");
		assert_string_not_equal(calls[i].traceparent, own);
		assert_null(strstr(calls[i].traceparent, SPAN));
		assert_string_equal(calls[i].request_id, context.request_id);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(calls[i].traceparent, calls[j].traceparent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_found_in_any_case_and_one_after_the_other),
		cmocka_unit_test(a_request_that_says_nothing_gets_an_id_and_a_trace_of_its_own),
		cmocka_unit_test(a_sane_request_id_is_kept_and_another_replaced),
		cmocka_unit_test(a_valid_traceparent_is_continued),
		cmocka_unit_test(an_invalid_traceparent_is_as_good_as_none),
		cmocka_unit_test(tracestate_goes_along_with_the_trace_it_belongs_to),
		cmocka_unit_test(a_long_tracestate_is_left_out),
		cmocka_unit_test(every_call_has_a_span_of_its_own_in_the_same_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
