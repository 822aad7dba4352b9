#include "tests/contract/calls_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http_status.h"
#include "clients/upstream_set.h"
#include "tests/contract/over_executor.h"
#include "tests/fakes/echo_client.h"

struct calls_options calls_options;
struct http_client *calls_client;
struct calls_answer calls_answer;

static struct upstream_holder holder;
static struct executor *executor;
static struct handler *handler;

static int begin_stream(struct response *response)
{
	(void)response;
	return 0;
}

static int write_stream(struct response *response, const void *data, size_t len,
                        struct deadline deadline)
{
	struct calls_answer *answer = (struct calls_answer *)response; /* its first member */
	size_t before = strlen(answer->text);
	char *longer;

	(void)deadline;
	if (++answer->writes == answer->fail_at)
		return answer->gives_up_late ? -ETIMEDOUT : -ECANCELED;
	longer = realloc(answer->text, before + len + 1);
	if (!longer)
		return -ENOMEM;
	memcpy(longer + before, data, len);
	longer[before + len] = '\0';
	answer->text = longer;
	return 0;
}

static const struct response_stream_ops stream_ops = {begin_stream, write_stream};

static struct upstream_set *make_set(void)
{
	static const struct http_header headers[] = {{"X-Key", "secret"}, {"X-Tier", "gold"}};
	const struct upstream_settings upstreams[] = {
		{.url = "http://one.example/ignored", .client = calls_client},
		{.name = "two",
	         .url = "http://two.example:8080",
	         .headers = headers,
	         .header_count = 2,
	         .timeout_ms = 5000,
	         .client = calls_client},
	};
	struct upstream_set *set;
	size_t faulty;

	assert_int_equal(upstream_set_create(
				 &(struct upstream_set_options){.upstreams = upstreams, .count = 2},
				 &set, &faulty),
	                 0);
	return set;
}

void calls_set_up(unsigned at_once)
{
	if (calls_options.limits.max_n == 0)
		calls_options = (struct calls_options){
			.limits = {.max_n = 10000,
		                   .deadline_ms = CALLS_DEADLINE_MS,
		                   .max_memory_bytes = (size_t)64 << 20},
			.call_timeout_ms = 10000,
			.max_reply_bytes = 1 << 20,
		};
	calls_options.upstreams = &holder;
	assert_int_equal(echo_client_create(&calls_client), 0);
	upstream_holder_init(&holder, make_set());
	assert_int_equal(calls_handler_create(&calls_options, &handler), 0);
	executor = start_executor(at_once);
}

static void forget_answer(void)
{
	response_finish(&calls_answer.response);
	free(calls_answer.text);
	calls_answer = (struct calls_answer){0};
}

int calls_tear_down(void **state)
{
	(void)state;
	forget_answer();
	executor_destroy(executor);
	handler_destroy(handler);
	upstream_holder_finish(&holder);
	http_client_destroy(calls_client);
	calls_options = (struct calls_options){0};
	return 0;
}

static int serve(void *request)
{
	handler->serve(handler, request, &calls_answer.response);
	return 0;
}

void calls_post(const char *headers, const char *query, const char *body)
{
	struct request request = {
		.method = "POST",
		.path = "/fanout",
		.query = query,
		.body = body,
		.body_len = strlen(body),
		.deadline = deadline_in_ms(calls_options.limits.deadline_ms),
		.headers = headers,
	};
	size_t fail_at = calls_answer.fail_at;
	bool gives_up_late = calls_answer.gives_up_late;

	forget_answer();
	calls_answer.text = strdup("");
	calls_answer.fail_at = fail_at;
	calls_answer.gives_up_late = gives_up_late;
	calls_answer.response.stream_ops = &stream_ops;
	assert_int_equal(run_in_task(executor, serve, &request), 0);
	if (calls_answer.response.is_streamed)
		return;
	free(calls_answer.text);
	calls_answer.text = strndup(calls_answer.response.body, calls_answer.response.body_len);
}

void calls_post_list(const char *headers, const char *members, const char *calls)
{
	char *body;

	assert_true(asprintf(&body, "{%s\"requests\":[%s]}", members, calls) > 0);
	calls_post(headers, "", body);
	free(body);
}

json_t *calls_parsed(void)
{
	json_error_t error;
	json_t *parsed = json_loads(calls_answer.text, JSON_REJECT_DUPLICATES, &error);

	if (!parsed)
		fail_msg("%s in %s", error.text, calls_answer.text);
	return parsed;
}

/* In place: "ms":12.3 becomes "ms":0.0. */
static void stop_the_clock(char *text)
{
	while ((text = strstr(text, "\"ms\":"))) {
		size_t length;

		text += strlen("\"ms\":");
		length = strspn(text, "0123456789.");
		memcpy(text, "0.0", 3);
		memmove(text + 3, text + length, strlen(text + length) + 1);
	}
}

void calls_expect_text(const char *text)
{
	stop_the_clock(calls_answer.text);
	assert_string_equal(calls_answer.text, text);
}

void calls_expect_problem(int status, const char *pointer, const char *detail)
{
	json_t *problem = calls_parsed();

	assert_int_equal(calls_answer.response.status, status);
	assert_string_equal(calls_answer.response.content_type, "application/problem+json");
	assert_int_equal(json_integer_value(json_object_get(problem, "status")), status);
	assert_string_equal(json_string_value(json_object_get(problem, "title")),
	                    http_status_phrase((unsigned)status));
	assert_string_equal(json_string_value(json_object_get(problem, "detail")), detail);
	if (pointer)
		assert_string_equal(json_string_value(json_object_get(problem, "pointer")),
		                    pointer);
	assert_int_equal(json_object_size(problem), pointer ? 4 : 3);
	json_decref(problem);
}
