#include "server/request_framing.h"

#include <string.h>

#include "tests/with_cmocka.h"

static const char *fault(const char *head)
{
	return request_framing_fault(head, strlen(head));
}

static void takes_requests_that_have_one_meaning(void **state)
{
	(void)state;
	assert_null(fault("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	assert_null(fault("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	assert_null(fault("GET / HTTP/1.1\nHost: x\n\n"));
	assert_null(fault("GET / HTTP/1.0\r\n\r\n"));
	assert_null(fault("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"));
	assert_null(fault("POST / HTTP/1.1\r\nhost:x\r\ntransfer-encoding:\t ChunkeD \r\n\r\n"));
}

static void looks_no_further_than_the_empty_line(void **state)
{
	const char request[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n"
			       "Content-Length: 1\r\n folded\r\nHost: y\r\n";

	(void)state;
	assert_null(fault(request));
	/* Nor past the bytes that are there. */
	assert_null(request_framing_fault(request, strlen("POST / HTTP/1.1\r\nHost: x\r\n\r\n")));
}

static void names_what_is_wrong(void **state)
{
	(void)state;
	assert_string_equal(fault("P / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
	                          "content-length: 1\r\n\r\n"),
	                    "more than one Content-Length");
	assert_string_equal(fault("P / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
	                          "Transfer-Encoding: chunked\r\n\r\n"),
	                    "Content-Length with Transfer-Encoding");
	assert_string_equal(
		fault("P / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
		"a Transfer-Encoding other than chunked");
	assert_string_equal(fault("P / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
	                          "Transfer-Encoding: chunked\r\n\r\n"),
	                    "a Transfer-Encoding other than chunked");
	assert_string_equal(fault("P / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
	                    "a Transfer-Encoding in HTTP/1.0");
	assert_string_equal(fault("P / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n"),
	                    "more than one Host");
	assert_string_equal(fault("P / HTTP/1.1\r\nA: b\r\n\r\n"), "no Host");
	assert_string_equal(fault("P / HTTP/1.1\r\nHost: x\r\n\ty\r\n\r\n"),
	                    "a folded header line");
	assert_string_equal(fault("P / HTTP/1.1\r\nHost: x\rA: b\r\n\r\n"), "a CR without LF");
	assert_string_equal(fault(""), "no request line");
	assert_string_equal(fault("\r\n"), "no request line");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_requests_that_have_one_meaning),
		cmocka_unit_test(looks_no_further_than_the_empty_line),
		cmocka_unit_test(names_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
