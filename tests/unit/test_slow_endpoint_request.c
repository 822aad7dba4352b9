#include "server/slow_endpoint_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/with_cmocka.h"

static struct slow_request request;

static void parse(const char *head)
{
	size_t scanned = 0;
	ssize_t length = slow_request_head_length(head, strlen(head), &scanned);

	assert_true(length > 0);
	slow_request_parse(&request, head, (size_t)length);
}

static void parse_get(const char *target)
{
	char head[1024];
	int length = snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);

	assert_in_range(length, 1, sizeof(head) - 1);
	parse(head);
}

static void assert_refused(unsigned status, const char *text)
{
	assert_int_equal(request.route, SLOW_ROUTE_REFUSED);
	assert_int_equal(request.refused_status, status);
	if (!strstr(request.refused_text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, request.refused_text);
}

static void a_query_may_give_every_parameter(void **state)
{
	(void)state;
	parse_get("/slow?ms=1500&bytes=70000&status=503&jitter_ms=20&chunked=1&rate=50&fault=stall"
	          "&retry_after=3&slow_percent=5&slow_ms=900&fail_percent=40");
	assert_int_equal(request.route, SLOW_ROUTE_SLOW);
	assert_int_equal(request.parameters.ms, 1500);
	assert_int_equal(request.parameters.bytes, 70000);
	assert_int_equal(request.parameters.status, 503);
	assert_int_equal(request.parameters.jitter_ms, 20);
	assert_int_equal(request.parameters.chunked, 1);
	assert_int_equal(request.parameters.rate, 50);
	assert_int_equal(request.parameters.fault, SLOW_FAULT_STALL);
	assert_int_equal(request.parameters.retry_after, 3);
	assert_int_equal(request.parameters.slow_percent, 5);
	assert_int_equal(request.parameters.slow_ms, 900);
	assert_int_equal(request.parameters.fail_percent, 40);
}

static void only_ms_has_no_default(void **state)
{
	(void)state;
	parse_get("/slow?ms=0");
	assert_int_equal(request.route, SLOW_ROUTE_SLOW);
	assert_int_equal(request.parameters.ms, 0);
	assert_int_equal(request.parameters.bytes, 2);
	assert_int_equal(request.parameters.status, 200);
	assert_int_equal(request.parameters.jitter_ms, 0);
	assert_int_equal(request.parameters.chunked, 0);
	assert_int_equal(request.parameters.rate, 0);
	assert_int_equal(request.parameters.fault, SLOW_FAULT_NONE);
	assert_int_equal(request.parameters.retry_after, 0);
	assert_int_equal(request.parameters.slow_percent, 0);
	assert_int_equal(request.parameters.fail_percent, 100);
	parse_get("/slow");
	assert_refused(400, "ms: missing");
	parse_get("/slow?bytes=5");
	assert_refused(400, "ms: missing");
}

static void the_ends_of_each_range_are_in_it(void **state)
{
	static const char *const good[] = {
		"ms=0",
		"ms=600000",
		"ms=0&bytes=0",
		"ms=0&bytes=1073741824",
		"ms=0&rate=1",
		"ms=0&status=200",
		"ms=0&status=599",
		"ms=0&jitter_ms=0",
		"ms=0&chunked=0",
		"ms=0&jitter_ms=600000",
		"ms=0&rate=1000000",
		"ms=0&retry_after=86400",
		"ms=0&slow_percent=100&slow_ms=600000",
		"ms=0&fail_percent=0",
		"ms=007",
	};
	char target[128];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_in_range(snprintf(target, sizeof(target), "/slow?%s", good[i]), 1, 127);
		parse_get(target);
		if (request.route != SLOW_ROUTE_SLOW)
			fail_msg("%s: %s", good[i], request.refused_text);
	}
}

static void bad_parameters_are_refused_by_name(void **state)
{
	static const struct {
		const char *query, *text;
	} bad[] = {
		{"ms=", "ms: must be"},
		{"ms", "ms: must be"},
		{"ms=1e3", "ms: must be"},
		{"ms=0x10", "ms: must be"},
		{"ms=-1", "ms: must be"},
		{"ms=+1", "ms: must be"},
		{"ms=1.5", "ms: must be"},
		{"ms=1%30", "ms: must be"},
		{"ms=600001", "ms: must be a whole number from 0 to 600000"},
		{"ms=18446744073709551616", "ms: must be"},
		{"ms=1&ms=1", "ms: given twice"},
		{"ms=1&bytes=1073741825", "bytes: must be"},
		{"ms=1&bytes=", "bytes: must be"},
		{"ms=1&bytes=2&bytes=2", "bytes: given twice"},
		{"ms=1&status=199", "status: must be"},
		{"ms=1&status=600", "status: must be"},
		{"ms=1&status=OK", "status: must be"},
		{"ms=1&jitter_ms=600001", "jitter_ms: must be"},
		{"ms=1&jitter_ms=1&jitter_ms=1", "jitter_ms: given twice"},
		{"ms=1&chunked=2", "chunked: must be"},
		{"ms=1&chunked=yes", "chunked: must be"},
		{"ms=1&chunked=", "chunked: must be"},
		{"ms=1&rate=0", "rate: must be"},
		{"ms=1&rate=1000001", "rate: must be"},
		{"ms=1&retry_after=0", "retry_after: must be"},
		{"ms=1&slow_percent=101", "slow_percent: must be"},
		{"ms=1&slow_ms=-1", "slow_ms: must be"},
		{"ms=1&fail_percent=101", "fail_percent: must be"},
		{"ms=1&fault=", "fault: must be"},
		{"ms=1&fault=fire", "fault: must be"},
		{"ms=1&fault=Reset", "fault: must be"},
		{"ms=1&fault=reset&fault=reset", "fault: given twice"},
		{"ms=1&nonsense=1", "nonsense: unknown parameter"},
		{"ms=1&MS=1", "MS: unknown parameter"},
		{"ms=1&&bytes=2", "unknown parameter"},
		{"=1", "unknown parameter"},
	};
	char target[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_in_range(snprintf(target, sizeof(target), "/slow?%s", bad[i].query), 1, 127);
		parse_get(target);
		assert_refused(400, bad[i].text);
		assert_true(request.keep_alive);
	}
}

static void each_fault_has_a_name(void **state)
{
	(void)state;
	parse_get("/slow?ms=0&fault=reset");
	assert_int_equal(request.parameters.fault, SLOW_FAULT_RESET);
	parse_get("/slow?ms=0&fault=close");
	assert_int_equal(request.parameters.fault, SLOW_FAULT_CLOSE);
	parse_get("/slow?ms=0&fault=garbage");
	assert_int_equal(request.parameters.fault, SLOW_FAULT_GARBAGE);
}

static void a_long_unknown_name_is_shortened(void **state)
{
	char target[600] = "/slow?ms=1&";

	(void)state;
	memset(target + strlen(target), 'x', 500);
	parse_get(target);
	assert_refused(400, "xxxx: unknown parameter");
}

static void paths_and_methods_choose_the_route(void **state)
{
	(void)state;
	parse_get("/stats");
	assert_int_equal(request.route, SLOW_ROUTE_STATS);
	parse("POST /stats/reset HTTP/1.1\r\n\r\n");
	assert_int_equal(request.route, SLOW_ROUTE_STATS_RESET);
	parse("DELETE /echo?anything=1 HTTP/1.1\r\n\r\n");
	assert_int_equal(request.route, SLOW_ROUTE_ECHO);
	parse("HEAD /slow?ms=1 HTTP/1.1\r\n\r\n");
	assert_int_equal(request.route, SLOW_ROUTE_SLOW);
	assert_true(request.is_head);
	parse_get("http://example.org:80/slow?ms=3");
	assert_int_equal(request.route, SLOW_ROUTE_SLOW);
	parse_get("http://example.org");
	assert_refused(404, "not found");
	parse_get("/");
	assert_refused(404, "not found");
	parse_get("/slower?ms=1");
	assert_refused(404, "not found");
}

static void other_methods_are_told_the_right_one(void **state)
{
	(void)state;
	parse("OPTIONS /slow?ms=1 HTTP/1.1\r\n\r\n");
	assert_refused(405, "method");
	assert_string_equal(request.allow, "GET, HEAD, POST, PUT, PATCH, DELETE");
	parse("POS /slow?ms=1 HTTP/1.1\r\n\r\n");
	assert_refused(405, "method");
	parse("GET /stats/reset HTTP/1.1\r\n\r\n");
	assert_refused(405, "method");
	assert_string_equal(request.allow, "POST");
	parse("HEAD /stats HTTP/1.1\r\n\r\n");
	assert_refused(405, "method");
	assert_true(request.is_head);
}

static void keep_alive_depends_on_version_and_connection(void **state)
{
	static const struct {
		const char *head;
		bool keep_alive;
	} cases[] = {
		{"GET /stats HTTP/1.1\r\n\r\n", true},
		{"GET /stats HTTP/1.1\r\nConnection: close\r\n\r\n", false},
		{"GET /stats HTTP/1.1\r\nCONNECTION:\tupgrade , Close\t\r\n\r\n", false},
		{"GET /stats HTTP/1.1\r\nConnection: closely\r\n\r\n", true},
		{"GET /stats HTTP/1.0\r\n\r\n", false},
		{"GET /stats HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
		{"GET /stats HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse(cases[i].head);
		assert_int_equal(request.route, SLOW_ROUTE_STATS);
		assert_int_equal(request.keep_alive, cases[i].keep_alive);
	}
}

static void a_content_length_is_read(void **state)
{
	(void)state;
	parse("POST /stats/reset HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n");
	assert_int_equal(request.route, SLOW_ROUTE_STATS_RESET);
	assert_int_equal(request.content_bytes, 1048576);
	assert_false(request.expects_continue);
	parse("POST /slow HTTP/1.1\r\ncontent-length:5\r\nExpect: 100-Continue\r\n\r\n");
	assert_int_equal(request.content_bytes, 5);
	assert_true(request.expects_continue);
}

static void what_hides_the_next_request_ends_the_connection(void **state)
{
	static const struct {
		const char *head;
		unsigned status;
	} cases[] = {
		{"GET /stats\r\n\r\n", 400},
		{"GET  /stats HTTP/1.1\r\n\r\n", 400},
		{"GET /stats HTTP/1.1 \r\n\r\n", 505},
		{"GET /a b HTTP/1.1\r\n\r\n", 400},
		{"GET /\x01 HTTP/1.1\r\n\r\n", 400},
		{"G(T /stats HTTP/1.1\r\n\r\n", 400},
		{" GET /stats HTTP/1.1\r\n\r\n", 400},
		{"GET /stats HTTP/2.0\r\n\r\n", 505},
		{"PRI * HTTP/2.0\r\n\r\n", 505},
		{"GET /stats HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nContent-Length: +5\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nContent-Length:\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413},
		{"GET /stats HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
		{"GET /stats HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
	         400},
		{"GET /stats HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nA : b\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nno colon\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\n: b\r\n\r\n", 400},
		{"GET /stats HTTP/1.1\r\nA: b\rc\r\n\r\n", 400},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse(cases[i].head);
		if (request.refused_status != cases[i].status)
			fail_msg("%s: %u", cases[i].head, request.refused_status);
		assert_int_equal(request.route, SLOW_ROUTE_REFUSED);
		assert_true(request.unframed);
		assert_false(request.keep_alive);
	}
}

static void a_nul_in_a_field_is_refused(void **state)
{
	static const char head[] = "GET /stats HTTP/1.1\r\nA: b\0c\r\n\r\n";
	size_t scanned = 0;

	(void)state;
	assert_int_equal(slow_request_head_length(head, sizeof(head) - 1, &scanned),
	                 sizeof(head) - 1);
	slow_request_parse(&request, head, sizeof(head) - 1);
	assert_refused(400, "control character");
}

/* A copy of its own for each split, so that a sanitizer sees a read beyond what has arrived. */
static ssize_t length_of_copy(const char *head, size_t length, size_t *scanned)
{
	char *copy = malloc(length > 0 ? length : 1);
	ssize_t result;

	assert_non_null(copy);
	memcpy(copy, head, length);
	result = slow_request_head_length(copy, length, scanned);
	free(copy);
	return result;
}

static void a_head_may_be_split_anywhere(void **state)
{
	static const char head[] = "\r\n\r\nGET /slow?ms=12 HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n"
				   "GET /next";
	const size_t head_length = sizeof(head) - 1 - strlen("GET /next");

	(void)state;
	for (size_t split = 0; split < head_length; split++) {
		size_t scanned = 0;

		assert_int_equal(length_of_copy(head, split, &scanned), 0);
		assert_int_equal(length_of_copy(head, sizeof(head) - 1, &scanned), head_length);
	}
	slow_request_parse(&request, head, head_length);
	assert_int_equal(request.route, SLOW_ROUTE_SLOW);
	assert_int_equal(request.parameters.ms, 12);
}

static void a_head_may_come_byte_by_byte(void **state)
{
	static const char head[] = "GET /slow?ms=12 HTTP/1.1\r\nHost: a\r\n\r\n";
	size_t scanned = 0;

	(void)state;
	for (size_t length = 0; length < sizeof(head) - 1; length++)
		assert_int_equal(length_of_copy(head, length, &scanned), 0);
	assert_int_equal(length_of_copy(head, sizeof(head) - 1, &scanned), sizeof(head) - 1);
}

static void a_bare_line_feed_is_refused_at_once(void **state)
{
	size_t scanned = 0;

	(void)state;
	assert_int_equal(slow_request_head_length("GET / HTTP/1.0\n", 15, &scanned), -EBADMSG);
	scanned = 0;
	assert_int_equal(slow_request_head_length("\n", 1, &scanned), -EBADMSG);
	slow_request_refuse_head(&request, -EBADMSG);
	assert_refused(400, "CR LF");
	assert_true(request.unframed);
}

static void a_head_of_16_kib_is_the_longest(void **state)
{
	static char head[SLOW_HEAD_MAX_BYTES + 1];
	static const char start[] = "GET /stats HTTP/1.1\r\nA: ";
	size_t scanned = 0;

	(void)state;
	memset(head, 'x', sizeof(head));
	memcpy(head, start, sizeof(start) - 1);
	memcpy(head + SLOW_HEAD_MAX_BYTES - 4, "\r\n\r\n", 4);
	assert_int_equal(slow_request_head_length(head, SLOW_HEAD_MAX_BYTES, &scanned),
	                 SLOW_HEAD_MAX_BYTES);
	slow_request_parse(&request, head, SLOW_HEAD_MAX_BYTES);
	assert_int_equal(request.route, SLOW_ROUTE_STATS);

	memcpy(head + SLOW_HEAD_MAX_BYTES - 4, "x\r\n\r\n", 5);
	scanned = 0;
	assert_int_equal(slow_request_head_length(head, SLOW_HEAD_MAX_BYTES + 1, &scanned),
	                 -EMSGSIZE);
	scanned = 0;
	assert_int_equal(slow_request_head_length(head, SLOW_HEAD_MAX_BYTES, &scanned), -EMSGSIZE);
	scanned = 0;
	assert_int_equal(slow_request_head_length(head, SLOW_HEAD_MAX_BYTES - 1, &scanned), 0);
	slow_request_refuse_head(&request, -EMSGSIZE);
	assert_refused(431, "16 KiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_may_give_every_parameter),
		cmocka_unit_test(only_ms_has_no_default),
		cmocka_unit_test(the_ends_of_each_range_are_in_it),
		cmocka_unit_test(bad_parameters_are_refused_by_name),
		cmocka_unit_test(each_fault_has_a_name),
		cmocka_unit_test(a_long_unknown_name_is_shortened),
		cmocka_unit_test(paths_and_methods_choose_the_route),
		cmocka_unit_test(other_methods_are_told_the_right_one),
		cmocka_unit_test(keep_alive_depends_on_version_and_connection),
		cmocka_unit_test(a_content_length_is_read),
		cmocka_unit_test(what_hides_the_next_request_ends_the_connection),
		cmocka_unit_test(a_nul_in_a_field_is_refused),
		cmocka_unit_test(a_head_may_be_split_anywhere),
		cmocka_unit_test(a_head_may_come_byte_by_byte),
		cmocka_unit_test(a_bare_line_feed_is_refused_at_once),
		cmocka_unit_test(a_head_of_16_kib_is_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
