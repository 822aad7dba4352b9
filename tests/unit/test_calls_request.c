#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/calls_request.h"
#include "tests/with_cmocka.h"

/* What a list of calls may look like, and what is said of one that does not. */

static const struct calls_bounds bounds = {
	.max_n = 100,
	.deadline_ms = 30000,
	.call_timeout_ms = 10000,
	.memory_bytes = 1 << 20,
};

static int read_list(const char *text, struct calls_request *out, struct calls_violation *violation)
{
	return calls_request_read(text, strlen(text), &bounds, out, violation);
}

static struct calls_request read_well(const char *text)
{
	struct calls_violation violation;
	struct calls_request request;

	if (read_list(text, &request, &violation))
		fail_msg("%s: %s in %s", violation.pointer.text, violation.detail, text);
	return request;
}

static void a_list_has_defaults(void **state)
{
	struct calls_request request = read_well(" {\"requests\":[{\"id\":\"a\",\"url\":\"/\"}]} ");

	(void)state;
	assert_int_equal(request.policy, CALLS_ALL);
	assert_int_equal(request.quorum, 0);
	assert_int_equal(request.max_parallel, 0);
	assert_int_equal(request.deadline_ms, 0);
	assert_false(request.by_completion);
	assert_false(request.has_order);
	assert_int_equal(request.count, 1);
	assert_string_equal(request.entries[0].id, "a");
	assert_int_equal(request.entries[0].id_length, 1);
	assert_string_equal(request.entries[0].method, "GET");
	assert_string_equal(request.entries[0].url, "/");
	assert_null(request.entries[0].upstream);
	assert_null(request.entries[0].headers);
	assert_null(request.entries[0].content_type);
	assert_int_equal(request.entries[0].body_kind, CALLS_BODY_NONE);
	assert_null(request.entries[0].depends_on);
	assert_int_equal(request.entries[0].timeout_ms, 0);
	calls_request_finish(&request);
}

static void a_list_has_what_it_says(void **state)
{
	struct calls_request request = read_well(
		"{\"policy\":\"quorum\",\"quorum\":2,\"order\":\"completion\",\"max_parallel\":7,"
		"\"deadline_ms\":2000,\"requests\":["
		"{\"id\":\"a\",\"method\":\"post\",\"url\":\"/x?y=%20\",\"upstream\":\"inventory\","
		"\"headers\":{\"Content-Type\":\"text/plain\",\"X-A\":\"\"},\"body\":\"hi\","
		"\"timeout_ms\":500,\"dependsOn\":[\"b\"]},"
		"{\"id\":\"b\",\"url\":\"HTTPS://h/\",\"dependsOn\":[]}]}");
	const struct calls_entry *entry = request.entries;

	(void)state;
	assert_int_equal(request.policy, CALLS_QUORUM);
	assert_int_equal(request.quorum, 2);
	assert_true(request.by_completion && request.has_order);
	assert_int_equal(request.max_parallel, 7);
	assert_int_equal(request.deadline_ms, 2000);
	assert_int_equal(request.count, 2);
	assert_string_equal(entry->method, "POST");
	assert_string_equal(entry->url, "/x?y=%20");
	assert_int_equal(entry->url_length, 8);
	assert_true(calls_entry_is_path(entry));
	assert_string_equal(entry->upstream, "inventory");
	assert_int_equal(json_object_size(entry->headers), 2);
	assert_string_equal(entry->content_type, "text/plain");
	assert_int_equal(entry->body_kind, CALLS_BODY_TEXT);
	assert_string_equal(json_string_value(entry->body), "hi");
	assert_int_equal(entry->timeout_ms, 500);
	assert_int_equal(json_array_size(entry->depends_on), 1);
	assert_false(calls_entry_is_path(&entry[1]));
	assert_null(entry[1].depends_on);
	calls_request_finish(&request);
}

static void a_body_is_json_text_or_base64(void **state)
{
	static const struct {
		const char *body;
		enum calls_body kind;
	} bodies[] = {
		{"null", CALLS_BODY_JSON},
		{"false", CALLS_BODY_JSON},
		{"1.5", CALLS_BODY_JSON},
		{"[]", CALLS_BODY_JSON},
		{"{}", CALLS_BODY_JSON},
		{"{\"base64\":1}", CALLS_BODY_JSON},
		{"{\"base64\":\"AAAA\",\"a\":1}", CALLS_BODY_JSON},
		{"{\"base64\":\"AAAA\"}", CALLS_BODY_BASE64},
		{"\"text\"", CALLS_BODY_TEXT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct calls_request request;
		char text[200];

		assert_in_range(
			snprintf(text, sizeof(text),
		                 "{\"requests\":[{\"id\":\"a\",\"url\":\"/\",\"method\":\"PUT\","
		                 "\"headers\":{\"content-type\":\"x/y\"},\"body\":%s}]}",
		                 bodies[i].body),
			1, sizeof(text) - 1);
		request = read_well(text);
		assert_int_equal(request.entries[0].body_kind, bodies[i].kind);
		calls_request_finish(&request);
	}
}

/* The call that @members make with an id and a URL. */
#define CALL(members) "{\"requests\":[{\"id\":\"a\",\"url\":\"/\"" members "}]}"
#define LIST(members) "{\"requests\":[{\"id\":\"a\",\"url\":\"/\"}]" members "}"

static const struct {
	const char *text, *pointer, *detail;
} violations[] = {
	{"", "", "is not JSON: line 1, column 0"},
	{"[]", "", "must be an object"},
	{"1", "", "is not JSON: line 1, column 1"},
	{"{}", "", "requests is missing"},
	{"{\"requests\":[]}", "/requests", "must be an array of 1 to 100 calls"},
	{"{\"requests\":{}}", "/requests", "must be an array of 1 to 100 calls"},
	{"{\"requests\":[1]}", "/requests/0", "must be an object"},
	{"{\"requests\":[{\"url\":\"/\"}]}", "/requests/0", "id is missing"},
	{"{\"requests\":[{\"id\":\"a\"}]}", "/requests/0", "url is missing"},
	{"{\"requests\":[{\"id\":1,\"url\":\"/\"}]}", "/requests/0/id",
         "must be a string of 1 to 256 bytes"},
	{"{\"requests\":[{\"id\":\"\",\"url\":\"/\"}]}", "/requests/0/id",
         "must be a string of 1 to 256 bytes"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"\"}]}", "/requests/0/url",
         "must start with a slash, http:// or https://"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"x\"}]}", "/requests/0/url",
         "must start with a slash, http:// or https://"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"ftp://h/\"}]}", "/requests/0/url",
         "must start with a slash, http:// or https://"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":7}]}", "/requests/0/url",
         "must be a string of at most 8192 bytes"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"/a b\"}]}", "/requests/0/url",
         "has a fragment, or a character that needs percent-encoding"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"/\\u00e4\"}]}", "/requests/0/url",
         "has a fragment, or a character that needs percent-encoding"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"/\\r\\nX: y\"}]}", "/requests/0/url",
         "has a fragment, or a character that needs percent-encoding"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"/#a\"}]}", "/requests/0/url",
         "has a fragment, or a character that needs percent-encoding"},
	{"{\"requests\":[{\"id\":\"a\",\"url\":\"http://h/\",\"upstream\":\"u\"}]}",
         "/requests/0/upstream", "goes with a url that is a path"},

	{CALL(",\"method\":\"Get\""), "/requests/0/method",
         "must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"},
	{CALL(",\"method\":\"CONNECT\""), "/requests/0/method",
         "must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"},
	{CALL(",\"method\":null"), "/requests/0/method",
         "must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"},
	{CALL(",\"upstream\":null"), "/requests/0/upstream", "must be the name of an upstream"},
	{CALL(",\"timeout_ms\":0"), "/requests/0/timeout_ms",
         "must be a whole number from 1 to 10000"},
	{CALL(",\"timeout_ms\":10001"), "/requests/0/timeout_ms",
         "must be a whole number from 1 to 10000"},
	{CALL(",\"timeout_ms\":1.0"), "/requests/0/timeout_ms",
         "must be a whole number from 1 to 10000"},
	{CALL(",\"dependsOn\":\"b\""), "/requests/0/dependsOn", "must be an array of ids"},
	{CALL(",\"dependsOn\":[\"b\",1]"), "/requests/0/dependsOn/1",
         "must be the id of another call"},
	{CALL(",\"timeout\":1"), "/requests/0/timeout", "is not a member of a call"},
	{CALL(",\"a/b~\":1"), "/requests/0/a~1b~0", "is not a member of a call"},
	{CALL(",\"body\":1"), "/requests/0/body", "cannot be sent with GET"},
	{CALL(",\"method\":\"HEAD\",\"body\":{}"), "/requests/0/body", "cannot be sent with HEAD"},
	{CALL(",\"method\":\"PUT\",\"body\":\"x\""), "/requests/0/body",
         "a string needs a content-type header beside it"},

	{CALL(",\"headers\":[]"), "/requests/0/headers", "must be an object of at most 64 members"},
	{CALL(",\"headers\":{\"a b\":\"\"}"), "/requests/0/headers/a b",
         "is not the name of a header"},
	{CALL(",\"headers\":{\"\":\"\"}"), "/requests/0/headers/", "is not the name of a header"},
	{CALL(",\"headers\":{\"a\":1}"), "/requests/0/headers/a",
         "must be a string without control characters, or spaces at its ends"},
	{CALL(",\"headers\":{\"a\":\"x\\r\\ny: z\"}"), "/requests/0/headers/a",
         "must be a string without control characters, or spaces at its ends"},
	{CALL(",\"headers\":{\"a\":\"x\\n\"}"), "/requests/0/headers/a",
         "must be a string without control characters, or spaces at its ends"},
	{CALL(",\"headers\":{\"hOST\":\"h\"}"), "/requests/0/headers/hOST",
         "is a header that fanoutd sees to itself"},
	{CALL(",\"headers\":{\"Connection\":\"close\"}"), "/requests/0/headers/Connection",
         "is a header that fanoutd sees to itself"},
	{CALL(",\"headers\":{\"Transfer-Encoding\":\"chunked\"}"),
         "/requests/0/headers/Transfer-Encoding", "is a header that fanoutd sees to itself"},
	{CALL(",\"headers\":{\"Content-Length\":\"1\"}"), "/requests/0/headers/Content-Length",
         "is a header that fanoutd sees to itself"},
	{CALL(",\"headers\":{\"TraceParent\":\"1\"}"), "/requests/0/headers/TraceParent",
         "is a header that fanoutd sees to itself"},
	{CALL(",\"headers\":{\"a\":\"1\",\"A\":\"1\"}"), "/requests/0/headers/A", "is given twice"},

	{LIST(",\"request\":[]"), "/request", "is not a member of a list of calls"},
	{LIST(",\"deadline_ms\":0"), "/deadline_ms", "must be a whole number from 1 to 30000"},
	{LIST(",\"deadline_ms\":30001"), "/deadline_ms", "must be a whole number from 1 to 30000"},
	{LIST(",\"deadline_ms\":\"1\""), "/deadline_ms", "must be a whole number from 1 to 30000"},
	{LIST(",\"max_parallel\":-1"), "/max_parallel", "must be a whole number from 0 to 100"},
	{LIST(",\"max_parallel\":101"), "/max_parallel", "must be a whole number from 0 to 100"},
	{LIST(",\"policy\":\"any\""), "/policy", "must be all, first, fail_fast or quorum"},
	{LIST(",\"policy\":true"), "/policy", "must be all, first, fail_fast or quorum"},
	{LIST(",\"policy\":\"quorum\""), "", "quorum is missing"},
	{LIST(",\"quorum\":1"), "/quorum", "goes with the policy quorum"},
	{LIST(",\"policy\":\"quorum\",\"quorum\":0"), "/quorum",
         "must be a whole number from 1 to 100"},
	{LIST(",\"policy\":\"quorum\",\"quorum\":2"), "/quorum",
         "must be no more than there are calls"},
	{LIST(",\"order\":\"Input\""), "/order", "must be input or completion"},

	/* What the parser sees. */
	{LIST(",\"order\":\"input\",\"order\":\"input\""), "/order", "is given twice"},
	{CALL(",\"id\":\"b\""), "/requests/0/id", "is given twice"},
	{CALL(",\"headers\":{\"a\":\"1\",\"a\":\"1\"}"), "/requests/0/headers/a", "is given twice"},
	{CALL(",\"body\":[1,{\"x\":1,\"x\":2}]"), "/requests/0/body/1/x", "is given twice"},
	{CALL(",\"upstream\":\"\xff\""), "/requests/0/upstream", "is not UTF-8"},
	{CALL(",\"upstream\":\"\xc0\xaf\""), "/requests/0/upstream", "is not UTF-8"},
	{CALL(",\"\xff\":1"), "/requests/0", "is not UTF-8"},
	{CALL(",\"upstream\":\"\\u0000\""), "/requests/0/upstream", "has a NUL"},
	{CALL(",\"\\u0000\":1"), "/requests/0/\\u0000", "has a NUL"},
	{CALL(",\"timeout_ms\":18446744073709551616"), "/requests/0/timeout_ms",
         "is a number too large"},
	{CALL(",\"timeout_ms\":01"), "/requests/0/timeout_ms", "is not JSON: line 1, column 47"},
	{CALL(",\"body\":\"\\ud800\""), "/requests/0/body", "is not JSON: line 1, column 48"},
	{"{\"requests\":[{\n\"id\":a", "/requests/0/id", "is not JSON: line 2, column 6"},
	{LIST("") "x", "", "is not JSON: line 1, column 36"},
};

static void every_violation_has_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(violations) / sizeof(violations[0]); i++) {
		struct calls_violation violation;
		struct calls_request request;

		if (read_list(violations[i].text, &request, &violation) != -EINVAL)
			fail_msg("%s", violations[i].text);
		if (strcmp(violation.pointer.text, violations[i].pointer) != 0 ||
		    strcmp(violation.detail, violations[i].detail) != 0)
			fail_msg("%s: '%s' %s", violations[i].text, violation.pointer.text,
			         violation.detail);
	}
}

static void a_nul_in_the_text_is_refused(void **state)
{
	static const char text[] = "{\"requests\":[{\"id\":\"a\0\"}]}";
	struct calls_violation violation;
	struct calls_request request;

	(void)state;
	assert_int_equal(calls_request_read(text, sizeof(text) - 1, &bounds, &request, &violation),
	                 -EINVAL);
	assert_string_equal(violation.pointer.text, "/requests/0/id");
}

/* @depth arrays in the body of a call, which is 3 deep itself. */
static int read_nested(size_t depth, struct calls_request *request,
                       struct calls_violation *violation)
{
	static const char before[] = CALL(",\"method\":\"PUT\",\"body\":");
	size_t head = sizeof(before) - 1 - strlen("}]}");
	char *text = malloc(head + 2 * depth + sizeof("}]}"));
	int error;

	assert_non_null(text);
	memcpy(text, before, head);
	memset(text + head, '[', depth);
	memset(text + head + depth, ']', depth);
	memcpy(text + head + 2 * depth, "}]}", sizeof("}]}"));
	error = read_list(text, request, violation);
	free(text);
	return error;
}

static void nesting_ends_at_64(void **state)
{
	struct calls_violation violation;
	struct calls_request request;
	char pointer[200] = "/requests/0/body";

	(void)state;
	assert_int_equal(read_nested(61, &request, &violation), 0);
	calls_request_finish(&request);
	assert_int_equal(read_nested(62, &request, &violation), -EINVAL);
	assert_string_equal(violation.detail, "is nested more than 64 deep");
	for (size_t i = 0; i < 61; i++)
		strncat(pointer, "/0", sizeof(pointer) - strlen(pointer) - 1);
	assert_string_equal(violation.pointer.text, pointer);
	assert_int_equal(read_nested(100000, &request, &violation), -EINVAL);
	assert_string_equal(violation.detail, "is nested more than 64 deep");
}

static void what_takes_too_much_memory_is_not_parsed(void **state)
{
	static char text[40000];
	struct calls_violation violation;
	struct calls_request request;
	size_t at = (size_t)snprintf(text, sizeof(text), "{\"requests\":[");

	(void)state;
	while (at < sizeof(text) - 10)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "{},");
	(void)snprintf(text + at, sizeof(text) - at, "{}]}");
	assert_int_equal(read_list(text, &request, &violation), -ENOBUFS);
}

static void there_may_be_64_headers(void **state)
{
	struct calls_violation violation;
	struct calls_request request;
	char text[2000];

	(void)state;
	for (unsigned count = 64; count <= 65; count++) {
		size_t at = (size_t)snprintf(text, sizeof(text),
		                             "{\"requests\":[{\"id\":\"a\",\"url\":\"/\","
		                             "\"headers\":{\"x\":\"\"");

		for (unsigned i = 1; i < count; i++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, ",\"h%u\":\"\"", i);
		(void)snprintf(text + at, sizeof(text) - at, "}}]}");
		assert_int_equal(read_list(text, &request, &violation), count == 64 ? 0 : -EINVAL);
		if (count == 64)
			calls_request_finish(&request);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_defaults),
		cmocka_unit_test(a_list_has_what_it_says),
		cmocka_unit_test(a_body_is_json_text_or_base64),
		cmocka_unit_test(every_violation_has_its_place),
		cmocka_unit_test(a_nul_in_the_text_is_refused),
		cmocka_unit_test(nesting_ends_at_64),
		cmocka_unit_test(what_takes_too_much_memory_is_not_parsed),
		cmocka_unit_test(there_may_be_64_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
