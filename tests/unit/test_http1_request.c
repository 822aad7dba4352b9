#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clients/http1_request.h"
#include "tests/with_cmocka.h"

#define REST "\r\nUser-Agent: fanoutd/" FANOUTD_VERSION "\r\nAccept: */*\r\n"

static int init(struct http1_request *request, const struct http_call *call)
{
	struct url_host host;

	assert_int_equal(url_host_find(call->url, &host), 0);
	return http1_request_init(request, call, &host);
}

static void assert_head(const struct http_call *call, const char *expected)
{
	struct http1_request request;

	assert_int_equal(init(&request, call), 0);
	assert_int_equal(request.head_bytes, strlen(expected));
	assert_memory_equal(request.head, expected, request.head_bytes);
	http1_request_finish(&request);
}

static void assert_get(const char *url, const char *expected)
{
	assert_head(&(struct http_call){.url = url}, expected);
}

static void names_the_host_as_the_url_does(void **state)
{
	(void)state;
	assert_get("http://a.example/x", "GET /x HTTP/1.1\r\nHost: a.example" REST "\r\n");
	assert_get("HTTP://A.example:80/x", "GET /x HTTP/1.1\r\nHost: A.example" REST "\r\n");
	assert_get("http://a.example:/x", "GET /x HTTP/1.1\r\nHost: a.example" REST "\r\n");
	assert_get("http://a.example:8080/x",
	           "GET /x HTTP/1.1\r\nHost: a.example:8080" REST "\r\n");
	assert_get("http://[2001:db8::1]/x", "GET /x HTTP/1.1\r\nHost: [2001:db8::1]" REST "\r\n");
	assert_get("http://[::1]:81/x", "GET /x HTTP/1.1\r\nHost: [::1]:81" REST "\r\n");
	assert_get("http://[fe80::1%eth0]:81/x",
	           "GET /x HTTP/1.1\r\nHost: [fe80::1]:81" REST "\r\n");
}

static void asks_for_the_path_and_query(void **state)
{
	(void)state;
	assert_get("http://h", "GET / HTTP/1.1\r\nHost: h" REST "\r\n");
	assert_get("http://h:81", "GET / HTTP/1.1\r\nHost: h:81" REST "\r\n");
	assert_get("http://h?q=1", "GET /?q=1 HTTP/1.1\r\nHost: h" REST "\r\n");
	assert_get("http://h/a/b?c=d&e=http://f/",
	           "GET /a/b?c=d&e=http://f/ HTTP/1.1\r\nHost: h" REST "\r\n");
	assert_get("http://h/a#b", "GET /a HTTP/1.1\r\nHost: h" REST "\r\n");
	assert_get("http://h#b", "GET / HTTP/1.1\r\nHost: h" REST "\r\n");
}

static void says_how_long_a_body_is(void **state)
{
	(void)state;
	assert_head(
		&(struct http_call){
			.url = "http://h/", .method = "POST", .body = "x", .body_len = 12345},
		"POST / HTTP/1.1\r\nHost: h" REST "Content-Length: 12345\r\n\r\n");
	assert_head(&(struct http_call){.url = "http://h/", .method = "PUT"},
	            "PUT / HTTP/1.1\r\nHost: h" REST "Content-Length: 0\r\n\r\n");
	assert_head(&(struct http_call){.url = "http://h/", .method = "DELETE"},
	            "DELETE / HTTP/1.1\r\nHost: h" REST "\r\n");
}

static void sends_the_headers_of_the_call_after_host(void **state)
{
	static const struct http_header headers[] = {
		{"X-A", "1"}, {"x-b", ""}, {"X-A", "\xc3\xa4, 2"}};

	(void)state;
	assert_head(&(struct http_call){.url = "http://h/", .headers = headers, .header_count = 3},
	            "GET / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-b: \r\nX-A: \xc3\xa4, 2" REST "\r\n");
	assert_head(&(struct http_call){.url = "http://h/",
	                                .method = "POST",
	                                .body = "x",
	                                .body_len = 1,
	                                .headers = headers,
	                                .header_count = 1},
	            "POST / HTTP/1.1\r\nHost: h\r\nX-A: 1" REST "Content-Length: 1\r\n\r\n");
}

static void those_of_the_call_take_the_place_of_its_own(void **state)
{
	static const struct http_header headers[] = {{"accept", "text/html"}, {"USER-AGENT", "me"}};

	(void)state;
	assert_head(&(struct http_call){.url = "http://h/", .headers = headers, .header_count = 2},
	            "GET / HTTP/1.1\r\nHost: h\r\naccept: text/html\r\nUSER-AGENT: me\r\n\r\n");
	assert_head(&(struct http_call){.url = "http://h/", .headers = headers, .header_count = 1},
	            "GET / HTTP/1.1\r\nHost: h\r\naccept: text/html\r\n"
	            "User-Agent: fanoutd/" FANOUTD_VERSION "\r\n\r\n");
}

static void takes_headers_of_any_length(void **state)
{
	static char value[60001], expected[60300];

	(void)state;
	for (size_t length = 1; length < 60000; length = length < 400 ? length + 1 : 3 * length) {
		const struct http_header header = {"Name", value};

		memset(value, 'v', length);
		value[length] = '\0';
		assert_in_range(snprintf(expected, sizeof(expected),
		                         "GET / HTTP/1.1\r\nHost: h\r\nName: %s" REST "\r\n",
		                         value),
		                1, sizeof(expected) - 1);
		assert_head(&(struct http_call){.url = "http://h",
		                                .headers = &header,
		                                .header_count = 1},
		            expected);
	}
}

static void knows_what_may_be_repeated(void **state)
{
	static const char *const yes[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
	static const char *const no[] = {"POST", "PATCH", "CONNECT", "get", "LOCK"};
	struct http1_request request;

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		assert_int_equal(
			init(&request, &(struct http_call){.url = "http://h", .method = yes[i]}),
			0);
		assert_true(request.is_repeatable);
		assert_int_equal(request.is_head, i == 1);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		assert_int_equal(
			init(&request, &(struct http_call){.url = "http://h", .method = no[i]}), 0);
		assert_false(request.is_repeatable);
	}
	assert_int_equal(
		init(&request,
	             &(struct http_call){.url = "http://h", .method = "POST", .repeatable = true}),
		0);
	assert_true(request.is_repeatable);
}

static void takes_a_url_of_any_length(void **state)
{
	static char url[70000], expected[70200];

	(void)state;
	for (size_t length = 1; length < 60000; length = length < 400 ? length + 1 : 3 * length) {
		char path[60001];

		memset(path, 'p', length);
		path[length] = '\0';
		assert_in_range(snprintf(url, sizeof(url), "http://h:8080/%s", path), 1,
		                sizeof(url) - 1);
		assert_in_range(snprintf(expected, sizeof(expected),
		                         "GET /%s HTTP/1.1\r\nHost: h:8080" REST "\r\n", path),
		                1, sizeof(expected) - 1);
		assert_get(url, expected);
	}
}

static void refuses_what_would_break_the_lines(void **state)
{
	static const char *const urls[] = {
		"http://h/a b",   "http://h/a\r\nX: y", "http://h/\t",         "http://h/\x7f",
		"http://h/?a\nb", "http://u@h/",        "http://u:word@h:81/", "http://@h/",
	};
	static const char *const methods[] = {"", "GET /", "G\r\nET", "G\tT", "G(T)", "G\x80T"};
	static const struct http_header headers[] = {
		{"", "a"},          {"a b", "a"}, {"a\r\nb", "a"},
		{"a", "b\r\nc: d"}, {"a:", "b"},  {"a", "b\n"},
	};
	struct http1_request request;

	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		assert_int_equal(init(&request, &(struct http_call){.url = "http://h/",
		                                                    .headers = &headers[i],
		                                                    .header_count = 1}),
		                 -EINVAL);
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		assert_int_equal(init(&request, &(struct http_call){.url = urls[i]}), -EINVAL);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		assert_int_equal(init(&request, &(struct http_call){.url = "http://h/",
		                                                    .method = methods[i]}),
		                 -EINVAL);
	http1_request_finish(&request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_the_host_as_the_url_does),
		cmocka_unit_test(asks_for_the_path_and_query),
		cmocka_unit_test(says_how_long_a_body_is),
		cmocka_unit_test(sends_the_headers_of_the_call_after_host),
		cmocka_unit_test(those_of_the_call_take_the_place_of_its_own),
		cmocka_unit_test(takes_headers_of_any_length),
		cmocka_unit_test(knows_what_may_be_repeated),
		cmocka_unit_test(takes_a_url_of_any_length),
		cmocka_unit_test(refuses_what_would_break_the_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
