#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/calls_request.h"
#include "tests/unit/json_schema.h"
#include "tests/with_cmocka.h"

/* The schema that is shipped says of lists of calls what the parser makes of them. */

static json_t *schema;

static int load_schema(void **state)
{
	json_error_t error;

	(void)state;
	schema = json_load_file(SOURCE_ROOT "/handlers/fanout.schema.json", JSON_REJECT_DUPLICATES,
	                        &error);
	return schema ? 0 : -1;
}

static int unload_schema(void **state)
{
	(void)state;
	json_decref(schema);
	return 0;
}

static bool parser_admits(const char *text, size_t length)
{
	static const struct calls_bounds bounds = {.max_n = 10000,
	                                           .deadline_ms = 30000,
	                                           .call_timeout_ms = 10000,
	                                           .memory_bytes = (size_t)64 << 20};
	struct calls_violation violation;
	struct calls_request request;

	if (calls_request_read(text, length, &bounds, &request, &violation))
		return false;
	calls_request_finish(&request);
	return true;
}

static void expect(const char *text, size_t length, bool is_good)
{
	json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(value);
	if (parser_admits(text, length) != is_good)
		fail_msg("the parser does not say so of %.*s", (int)length, text);
	if (json_schema_admits(schema, schema, value) != is_good)
		fail_msg("the schema does not say so of %.*s", (int)length, text);
	json_decref(value);
}

/* A call with those members, and a list with them beside it. */
static void expect_call(const char *members, bool is_good)
{
	char text[1000];
	int length = snprintf(text, sizeof(text), "{\"requests\":[{%s}]}", members);

	assert_in_range(length, 1, sizeof(text) - 1);
	expect(text, (size_t)length, is_good);
}

static void expect_list(const char *members, bool is_good)
{
	char text[1000];
	int length = snprintf(text, sizeof(text), "{\"requests\":[{\"id\":\"a\",\"url\":\"/\"}]%s}",
	                      members);

	assert_in_range(length, 1, sizeof(text) - 1);
	expect(text, (size_t)length, is_good);
}

static void calls_are_judged_alike(void **state)
{
#define CALL "\"id\":\"a\",\"url\":\"/\""
#define PUT CALL ",\"method\":\"PUT\""
	static const char *const good[] = {
		CALL,
		"\"id\":\"\xc3\xa4 \",\"url\":\"/!\\\"$%&'()*+,-./:;<=>?@[\\\\]^_`{|}~\"",
		"\"id\":\"a\",\"url\":\"hTTp://h\"",
		"\"id\":\"a\",\"url\":\"https://h:1/?x\"",
		CALL ",\"method\":\"get\"",
		CALL ",\"method\":\"OPTIONS\",\"body\":1",
		PUT ",\"body\":null",
		PUT ",\"body\":{\"base64\":\"\"}",
		PUT ",\"body\":\"x\",\"headers\":{\"cOntent-type\":\"\"}",
		PUT ",\"body\":1,\"headers\":{}",
		CALL ",\"headers\":{\"!#$%&'*+-.^_`|~09azAZ\":\"\"}",
		CALL ",\"headers\":{\"a\":\"x \\t y\xc3\xa4\"}",
		CALL ",\"headers\":{\"hosts\":\"\",\"x-host\":\"\",\"te2\":\"\"}",
		CALL ",\"upstream\":\"\"",
		CALL ",\"timeout_ms\":1",
		CALL ",\"dependsOn\":[]",
		CALL ",\"dependsOn\":[\"b\",\"c\"]",
	};
	static const char *const bad[] = {
		"",
		"\"id\":\"a\"",
		"\"url\":\"/\"",
		"\"id\":\"\",\"url\":\"/\"",
		"\"id\":1,\"url\":\"/\"",
		"\"id\":\"a\",\"url\":\"\"",
		"\"id\":\"a\",\"url\":\"x\"",
		"\"id\":\"a\",\"url\":\"http:/h\"",
		"\"id\":\"a\",\"url\":\"ftp://h\"",
		"\"id\":\"a\",\"url\":\"/ \"",
		"\"id\":\"a\",\"url\":\"/#\"",
		"\"id\":\"a\",\"url\":\"/\\u007f\"",
		"\"id\":\"a\",\"url\":\"/\\n\"",
		"\"id\":\"a\",\"url\":\"/\xc3\xa4\"",
		"\"id\":\"a\",\"url\":null",
		CALL ",\"method\":\"Get\"",
		CALL ",\"method\":\"TRACE\"",
		CALL ",\"method\":1",
		CALL ",\"body\":1",
		CALL ",\"method\":\"head\",\"body\":null",
		PUT ",\"body\":\"x\"",
		PUT ",\"body\":\"x\",\"headers\":{\"content-types\":\"\"}",
		CALL ",\"headers\":[]",
		CALL ",\"headers\":{\"\":\"\"}",
		CALL ",\"headers\":{\"a:\":\"\"}",
		CALL ",\"headers\":{\"a\":null}",
		CALL ",\"headers\":{\"a\":\" x\"}",
		CALL ",\"headers\":{\"a\":\"x\\t\"}",
		CALL ",\"headers\":{\"a\":\"x\\ry\"}",
		CALL ",\"headers\":{\"a\":\"x\\u007fy\"}",
		CALL ",\"headers\":{\"Te\":\"\"}",
		CALL ",\"headers\":{\"HOST\":\"\"}",
		CALL ",\"headers\":{\"connection\":\"\"}",
		CALL ",\"headers\":{\"Content-Length\":\"\"}",
		CALL ",\"headers\":{\"expect\":\"\"}",
		CALL ",\"headers\":{\"HTTP2-Settings\":\"\"}",
		CALL ",\"headers\":{\"Keep-Alive\":\"\"}",
		CALL ",\"headers\":{\"Proxy-Authenticate\":\"\"}",
		CALL ",\"headers\":{\"Proxy-Authorization\":\"\"}",
		CALL ",\"headers\":{\"Proxy-Connection\":\"\"}",
		CALL ",\"headers\":{\"traceparent\":\"\"}",
		CALL ",\"headers\":{\"tracestate\":\"\"}",
		CALL ",\"headers\":{\"trailer\":\"\"}",
		CALL ",\"headers\":{\"transfer-encoding\":\"\"}",
		CALL ",\"headers\":{\"upgrade\":\"\"}",
		CALL ",\"headers\":{\"x-request-id\":\"\"}",
		CALL ",\"upstream\":1",
		"\"id\":\"a\",\"url\":\"http://h/\",\"upstream\":\"b\"",
		CALL ",\"timeout_ms\":0",
		CALL ",\"timeout_ms\":1.0",
		CALL ",\"timeout_ms\":\"1\"",
		CALL ",\"dependsOn\":\"b\"",
		CALL ",\"dependsOn\":[1]",
		CALL ",\"depends_on\":[]",
		CALL ",\"ID\":\"a\"",
	};
#undef PUT
#undef CALL

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect_call(good[i], true);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_call(bad[i], false);
}

static void lists_are_judged_alike(void **state)
{
	static const char *const good[] = {
		"",
		",\"deadline_ms\":1",
		",\"max_parallel\":0",
		",\"policy\":\"all\"",
		",\"policy\":\"first\"",
		",\"policy\":\"fail_fast\"",
		",\"policy\":\"quorum\",\"quorum\":1",
		",\"order\":\"completion\"",
		",\"order\":\"input\"",
	};
	static const char *const bad[] = {
		",\"deadline_ms\":0",
		",\"deadline_ms\":null",
		",\"max_parallel\":-1",
		",\"max_parallel\":0.5",
		",\"policy\":\"none\"",
		",\"policy\":1",
		",\"policy\":\"quorum\"",
		",\"policy\":\"quorum\",\"quorum\":0",
		",\"policy\":\"all\",\"quorum\":1",
		",\"quorum\":1",
		",\"order\":\"\"",
		",\"$schema\":\"\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect_list(good[i], true);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_list(bad[i], false);
	expect("{}", 2, false);
	expect("[]", 2, false);
	expect("{\"requests\":[]}", 15, false);
	expect("{\"requests\":[null]}", 19, false);
}

static char *read_file(const char *path)
{
	enum { MOST = 1 << 20 };
	FILE *file = fopen(path, "re");
	char *text = calloc(1, MOST + 1);

	assert_non_null(file);
	assert_non_null(text);
	assert_in_range(fread(text, 1, MOST, file), 1, MOST - 1);
	(void)fclose(file);
	return text;
}

/* What a page has curl send, -d '{…}', is good; but for one that shows what is said of a mistake.
 * Returns how many there were. */
static unsigned expect_examples(const char *path)
{
	static const char mistake[] = "{\"requests\":[{\"id\":\"a\",\"url\":\"slow\"}]}";
	static const char start[] = "-d '{";
	char *text = read_file(path);
	unsigned count = 0;

	for (const char *at = strstr(text, start); at; at = strstr(at, start)) {
		size_t length;

		at += strlen("-d '");
		length = strcspn(at, "'");
		expect(at, length, strncmp(at, mistake, length) != 0);
		count++;
	}
	free(text);
	return count;
}

static void examples_are_good(void **state)
{
	(void)state;
	assert_in_range(expect_examples(SOURCE_ROOT "/README.md"), 2, 100);
	assert_int_equal(expect_examples(SOURCE_ROOT "/loadtests/examples/price.sh"), 1);
	assert_int_equal(expect_examples(SOURCE_ROOT "/loadtests/examples/health.sh"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_judged_alike),
		cmocka_unit_test(lists_are_judged_alike),
		cmocka_unit_test(examples_are_good),
	};

	return cmocka_run_group_tests(tests, load_schema, unload_schema);
}
