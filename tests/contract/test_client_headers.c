#include <stdio.h>
#include <string.h>

#include "tests/contract/client_fixture.h"

/* What a call brings besides its URL, and what comes back besides a body. */

#define OK "HTTP/1.1 200 OK\r\n"
#define EMPTY "Content-Length: 0\r\n\r\n"
#define SERVICE_UNAVAILABLE "HTTP/1.1 503 Service Unavailable\r\n"

static const struct raw_reply replies[] = {
	{.path = "/whole", .bytes = OK "Content-Length: 5\r\n\r\nhello"},
	{.path = "/fields",
         .bytes = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" OK
                  "Set-Cookie: a=1; Path=/\r\nset-cookie: b=2\r\nEmpty:\r\nSpaced: \t x y \t\r\n"
                  "Content-Length: 5\r\n\r\nhello"},
	{.path = "/chunked",
         .bytes = OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{.path = "/to-end", .bytes = OK "A: b\r\n\r\nhello", .ending = RAW_CLOSE},
	{.path = "/204", .bytes = "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n"},
	{.path = "/503", .bytes = SERVICE_UNAVAILABLE EMPTY},
	{.path = "/503-in-7", .bytes = SERVICE_UNAVAILABLE "Retry-After: 7\r\n" EMPTY},
	{.path = "/503-then",
         .bytes = SERVICE_UNAVAILABLE "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n" EMPTY},
	{.path = "/503-soon", .bytes = SERVICE_UNAVAILABLE "Retry-After: soon\r\n" EMPTY},
	{.path = "/429-in-7",
         .bytes = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n" EMPTY},
	{.path = "/301-in-7", .bytes = "HTTP/1.1 301 Moved\r\nRetry-After: 7\r\n" EMPTY},
	{.path = "/close", .ending = RAW_CLOSE},
	{.path = "/reset", .ending = RAW_RESET},
	{.path = "/half-a-head", .bytes = OK "Content-Le", .ending = RAW_CLOSE},
	{.path = "/half-a-body", .bytes = OK "Content-Length: 9\r\n\r\nx", .ending = RAW_CLOSE},
	{.path = "/hold", .bytes = OK "Content-Length: 9\r\n\r\nx"},
	{.path = "/once", .bytes = OK EMPTY, .answers = 1},
	{.path = NULL},
};

static int setup(void **state)
{
	return client_setup(state, replies);
}

/* @call to @path, with plenty of time. */
static void make(const struct client_fixture *fixture, const char *path, struct http_call *call)
{
	call->url = url_of(fixture, path);
	if (call->max_reply_bytes == 0)
		call->max_reply_bytes = CLIENT_MAX_REPLY_BYTES;
	(void)call_in_task(fixture, call, 5000);
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;

	while ((text = strcasestr(text, part))) {
		text += strlen(part);
		count++;
	}
	return count;
}

static void sends_the_headers_of_a_call_after_host(void **state)
{
	static const struct http_header headers[] = {
		{"X-First", "1, 2"}, {"X-Empty", ""}, {"x-last", "\xc3\xa4"}};
	struct http_call call = {.headers = headers, .header_count = 3};
	char request[RAW_REQUEST_BYTES];
	struct client_fixture *fixture = *state;
	const char *first;

	make(fixture, "/whole", &call);
	assert_string_equal(http_failure_name(call.failure), "ok");
	raw_server_last_request(fixture->server, request);
	assert_ptr_equal(strstr(request, "\r\n"), strstr(request, "\r\nHost: "));
	first = strstr(request, "\r\nX-First: 1, 2\r\nX-Empty:");
	assert_true(first > strstr(request, "\r\nHost: "));
	assert_non_null(strstr(first, "\r\nx-last: \xc3\xa4\r\n"));
	http_call_finish(&call);

	/* They are of that call alone. */
	call = get(fixture, "/whole");
	raw_server_last_request(fixture->server, request);
	assert_int_equal(count_of(request, "\r\nX-"), 0);
	http_call_finish(&call);
}

static void sends_a_body_under_the_type_that_a_call_says(void **state)
{
	static const struct http_header type = {"content-type", "application/json"};
	struct http_call call = {
		.method = "POST", .body = "{}", .body_len = 2, .headers = &type, .header_count = 1};
	char request[RAW_REQUEST_BYTES];
	struct client_fixture *fixture = *state;

	make(fixture, "/whole", &call);
	assert_string_equal(http_failure_name(call.failure), "ok");
	raw_server_last_request(fixture->server, request);
	assert_int_equal(count_of(request, "Content-Type"), 1);
	assert_non_null(strstr(request, "\r\ncontent-type: application/json\r\n"));
	assert_int_equal(count_of(request, "Content-Length: 2"), 1);
	assert_int_equal(count_of(request, "Expect"), 0);
	assert_string_equal(strstr(request, "\r\n\r\n"), "\r\n\r\n{}");
	http_call_finish(&call);
}

static void a_call_may_bring_its_own_user_agent_and_accept(void **state)
{
	static const struct http_header headers[] = {{"user-agent", "me"}, {"ACCEPT", "text/html"}};
	struct http_call call = {.headers = headers, .header_count = 2};
	char request[RAW_REQUEST_BYTES];
	struct client_fixture *fixture = *state;

	make(fixture, "/whole", &call);
	http_call_finish(&call);
	raw_server_last_request(fixture->server, request);
	assert_int_equal(count_of(request, "User-Agent"), 1);
	assert_int_equal(count_of(request, "Accept"), 1);
	assert_non_null(strstr(request, "\r\nuser-agent: me\r\n"));
	assert_non_null(strstr(request, "\r\nACCEPT: text/html\r\n"));

	call = get(fixture, "/whole");
	http_call_finish(&call);
	raw_server_last_request(fixture->server, request);
	assert_non_null(strstr(request, "\r\nUser-Agent: fanoutd/"));
	assert_non_null(strstr(request, "\r\nAccept: */*\r\n"));
}

static void sends_nothing_that_would_break_a_line(void **state)
{
	static const struct http_header headers[] = {
		{"A", "b\r\nC: d"}, {"A", "b\n"}, {"A\r\nB", "c"},
		{"A b", "c"},       {"A:", "b"},  {"", "a"},
	};
	static const char *const methods[] = {"G\r\nET", "GET ", ""};
	struct client_fixture *fixture = *state;
	struct raw_counts counts;
	struct http_call call;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		call = (struct http_call){.headers = &headers[i], .header_count = 1};
		make(fixture, "/whole", &call);
		assert_string_equal(http_failure_name(call.failure), "protocol");
		assert_int_equal(call.attempts, 0);
	}
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		call = (struct http_call){.method = methods[i]};
		make(fixture, "/whole", &call);
		assert_string_equal(http_failure_name(call.failure), "protocol");
	}
	raw_server_counts(fixture->server, &counts);
	assert_int_equal(counts.connections, 0);
}

static void sends_no_user_and_password_of_a_url(void **state)
{
	static const char *const users[] = {"user@", "user:word@", ":@", "@", "127.0.0.1:1@"};
	struct client_fixture *fixture = *state;
	struct raw_counts counts;
	char url[64];

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		struct http_call call = {.url = url, .max_reply_bytes = 100};

		assert_in_range(snprintf(url, sizeof(url), "http://%s127.0.0.1:%u/whole", users[i],
		                         (unsigned)raw_server_port(fixture->server)),
		                1, sizeof(url) - 1);
		assert_int_equal(call_in_task(fixture, &call, 5000), HTTP_PROTOCOL);
	}
	raw_server_counts(fixture->server, &counts);
	assert_int_equal(counts.connections, 0);
}

static void keeps_the_headers_of_a_reply_if_asked(void **state)
{
	static const struct http_header expected[] = {
		{"Set-Cookie", "a=1; Path=/"},
		{"set-cookie", "b=2"},
		{"Empty", ""},
		{"Spaced", "x y"},
		{"Content-Length", "5"},
	};
	struct http_call call = {.keep_headers = true};

	make(*state, "/fields", &call);
	assert_string_equal(call.reply, "hello");
	assert_int_equal(call.reply_header_count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(call.reply_headers[i].name, expected[i].name);
		assert_string_equal(call.reply_headers[i].value, expected[i].value);
	}
	http_call_finish(&call);

	call = get(*state, "/fields");
	assert_null(call.reply_headers);
	assert_int_equal(call.reply_header_count, 0);
	http_call_finish(&call);

	call = (struct http_call){.keep_headers = true, .count_only = true};
	make(*state, "/204", &call);
	assert_int_equal(call.reply_header_count, 1);
	assert_null(call.reply);
	http_call_finish(&call);
}

static void headers_that_are_kept_count_as_a_part_of_the_reply(void **state)
{
	static const struct {
		const char *path;
		size_t bytes;
	} cases[] = {{"/whole", 17 + 5}, {"/chunked", 26 + 5}, {"/to-end", 4 + 5}, {"/204", 4}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_call call = {.keep_headers = true, .max_reply_bytes = cases[i].bytes};

		make(*state, cases[i].path, &call);
		assert_string_equal(http_failure_name(call.failure), "ok");
		http_call_finish(&call);
		call.max_reply_bytes--;
		make(*state, cases[i].path, &call);
		assert_string_equal(http_failure_name(call.failure), "too_large");
		assert_null(call.reply_headers);
		http_call_finish(&call);
	}
}

static void a_call_that_fails_has_no_headers(void **state)
{
	struct http_call call = {.keep_headers = true};

	make(*state, "/half-a-body", &call);
	assert_string_equal(http_failure_name(call.failure), "reset");
	assert_null(call.reply_headers);
	assert_int_equal(call.reply_header_count, 0);

	call = (struct http_call){
		.keep_headers = true, .url = url_of(*state, "/hold"), .max_reply_bytes = 100};
	assert_int_equal(call_in_task(*state, &call, 50), HTTP_TIMEOUT);
	assert_null(call.reply_headers);
}

static void says_when_the_server_wants_to_be_asked_again(void **state)
{
	static const struct {
		const char *path;
		bool has;
		unsigned seconds;
	} cases[] = {
		{"/503-in-7", true, 7},          {"/429-in-7", true, 7},  {"/503", false, 0},
		{"/503-then", true, UINT32_MAX}, {"/503-soon", false, 0}, {"/301-in-7", false, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_call call = get(*state, cases[i].path);

		assert_string_equal(http_failure_name(call.failure), "ok");
		if (call.has_retry_after != cases[i].has || call.retry_after_s != cases[i].seconds)
			fail_msg("%s: %d, %u", cases[i].path, call.has_retry_after,
			         call.retry_after_s);
		http_call_finish(&call);
	}
}

static void says_whether_anything_of_a_reply_came(void **state)
{
	static const struct {
		const char *path;
		bool replied;
	} cases[] = {
		{"/whole", true},  {"/204", true},         {"/close", false},
		{"/reset", false}, {"/half-a-head", true}, {"/half-a-body", true},
	};
	struct http_call call = {.url = url_of(*state, "/hold"), .max_reply_bytes = 100};

	assert_int_equal(call_in_task(*state, &call, 50), HTTP_TIMEOUT);
	assert_true(call.replied);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		call = get(*state, cases[i].path);
		if (call.replied != cases[i].replied)
			fail_msg("%s: %d", cases[i].path, call.replied);
		http_call_finish(&call);
	}
	call = (struct http_call){.url = "http://127.0.0.1:1/", .max_reply_bytes = 100};
	assert_int_equal(call_in_task(*state, &call, 5000), HTTP_CONNECT);
	assert_false(call.replied);
}

struct calls_in_turn {
	struct http_client *client;
	struct http_call call;
	unsigned count, answered, attempts;
};

static int make_in_turn(void *arg)
{
	struct calls_in_turn *turn = arg;

	for (unsigned i = 0; i < turn->count; i++) {
		if (http_call(turn->client, &turn->call, deadline_in_ms(5000)) == HTTP_OK)
			turn->answered++;
		turn->attempts += turn->call.attempts;
		http_call_finish(&turn->call);
	}
	return 0;
}

static void an_attempt_is_one_however_often_a_kept_connection_is_closed(void **state)
{
	struct client_fixture *fixture = *state;
	struct calls_in_turn turn = {
		.client = fixture->client,
		.call = {.url = url_of(fixture, "/once"), .max_reply_bytes = 100},
		.count = 5,
	};
	struct raw_counts counts;

	(void)run_in_task(fixture->executor, make_in_turn, &turn);
	assert_int_equal(turn.answered, 5);
	assert_int_equal(turn.attempts, 5);
	raw_server_counts(fixture->server, &counts);
	assert_true(counts.connections == 5 && counts.requests > 5);
	turn.call = (struct http_call){.url = "http://127.0.0.1:1/", .max_reply_bytes = 100};
	turn.attempts = 0;
	(void)run_in_task(fixture->executor, make_in_turn, &turn);
	assert_int_equal(turn.attempts, 5);
}

static void what_may_be_repeated_goes_over_a_kept_connection(void **state)
{
	struct client_fixture *fixture = *state;
	struct calls_in_turn turn = {
		.client = fixture->client,
		.call = {.method = "POST",
	                 .url = url_of(fixture, "/whole"),
	                 .max_reply_bytes = 100,
	                 .repeatable = true},
		.count = 5,
	};
	struct raw_counts counts;

	(void)run_in_task(fixture->executor, make_in_turn, &turn);
	raw_server_counts(fixture->server, &counts);
	assert_int_equal(counts.connections, 1);
	turn.call.repeatable = false;
	(void)run_in_task(fixture->executor, make_in_turn, &turn);
	assert_int_equal(turn.answered, 10);
	raw_server_counts(fixture->server, &counts);
	assert_int_equal(counts.connections, 1 + 5);
}

int main(int argc, char **argv)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		SERVED(sends_the_headers_of_a_call_after_host),
		SERVED(sends_a_body_under_the_type_that_a_call_says),
		SERVED(a_call_may_bring_its_own_user_agent_and_accept),
		SERVED(sends_nothing_that_would_break_a_line),
		SERVED(sends_no_user_and_password_of_a_url),
		SERVED(keeps_the_headers_of_a_reply_if_asked),
		SERVED(headers_that_are_kept_count_as_a_part_of_the_reply),
		SERVED(a_call_that_fails_has_no_headers),
		SERVED(says_when_the_server_wants_to_be_asked_again),
		SERVED(says_whether_anything_of_a_reply_came),
		SERVED(an_attempt_is_one_however_often_a_kept_connection_is_closed),
		SERVED(what_may_be_repeated_goes_over_a_kept_connection),
	};

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
