#include "tests/unit/handler_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "clients/http_status.h"
#include "tests/with_cmocka.h"

struct executor *executor;
struct http_client *client;
struct handler *handler;
struct response response;
json_t *body;

static int serve(struct task *task)
{
	struct serving *serving = (struct serving *)task;

	handler->serve(handler, &serving->request, &response);
	return 0;
}

static void note_done(struct task *task)
{
	struct serving *serving = (struct serving *)task;

	pthread_mutex_lock(&serving->lock);
	serving->done = true;
	pthread_cond_signal(&serving->changed);
	pthread_mutex_unlock(&serving->lock);
}

void start_serving(struct serving *serving, const char *query)
{
	*serving = (struct serving){
		.task = {.run = serve, .done = note_done, .cancel = &serving->cancel},
		.request = {"GET", "/fanout", query, "", .deadline = deadline_in_ms(DEADLINE_MS)},
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	cancel_init(&serving->cancel, NULL);
	serving->task.deadline = serving->request.deadline;
	assert_int_equal(executor_submit(executor, &serving->task), 0);
}

void finish_serving(struct serving *serving)
{
	json_error_t error;

	pthread_mutex_lock(&serving->lock);
	while (!serving->done)
		pthread_cond_wait(&serving->changed, &serving->lock);
	pthread_mutex_unlock(&serving->lock);
	cancel_finish(&serving->cancel);
	assert_non_null(response.body);
	body = json_loadb(response.body, response.body_len, JSON_REJECT_DUPLICATES, &error);
	if (!body)
		fail_msg("%s in %.*s", error.text, (int)response.body_len, response.body);
}

void get(const char *query)
{
	struct serving serving;

	start_serving(&serving, query);
	finish_serving(&serving);
}

struct batch_limits plain_limits(void)
{
	return (struct batch_limits){
		.max_n = 100000,
		.deadline_ms = DEADLINE_MS,
		.max_memory_bytes = (size_t)64 << 20,
	};
}

struct fanout_options plain_options(void)
{
	return (struct fanout_options){
		.limits = plain_limits(),
		.client = client,
		.upstream = "http://127.0.0.1:1/slow",
		.call_timeout_ms = CALL_TIMEOUT_MS,
		.max_reply_bytes = 1000,
	};
}

void script_by(const struct scripted_options *script)
{
	assert_int_equal(scripted_client_create(script, &client), 0);
}

void handle_with(struct fanout_options options)
{
	assert_int_equal(fanout_handler_create(&options, &handler), 0);
}

void run_on(const char *kind, unsigned threads, unsigned max_tasks)
{
	struct executor_options options = {
		.threads = threads,
		.max_tasks = max_tasks,
		.max_threads = 1000,
		.max_queued = 16,
		.stack_bytes = 65536,
		.spare_drivers = 64,
		.pinned_threshold_ms = 20,
	};

	assert_int_equal(executor_create(kind, &options, &executor), 0);
}

/* What most tests need: every call is answered by the @count replies in turn. */
void set_up(const struct scripted_reply *replies, size_t count)
{
	script_by(&(struct scripted_options){.replies = replies, .reply_count = count});
	handle_with(plain_options());
	run_on("pool", POOL_THREADS, 200000);
}

void forget_answer(void)
{
	json_decref(body);
	response_finish(&response);
	body = NULL;
}

int tear_down(void **state)
{
	(void)state;
	forget_answer();
	executor_destroy(executor);
	handler_destroy(handler);
	http_client_destroy(client);
	executor = NULL;
	handler = NULL;
	client = NULL;
	return 0;
}

void expect_json(const json_t *value, const char *text)
{
	char *printed = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

	assert_string_equal(printed, text);
	free(printed);
}

const json_t *member(const char *name)
{
	const json_t *value = json_object_get(body, name);

	if (!value)
		fail_msg("no member %s", name);
	return value;
}

void expect_member(const char *name, const char *text)
{
	expect_json(member(name), text);
}

/* The problem that every refusal is, strictly. */
void expect_problem(int status, const char *parameter, const char *detail)
{
	assert_int_equal(response.status, status);
	assert_string_equal(response.content_type, "application/problem+json");
	assert_true(json_integer_value(member("status")) == status);
	assert_string_equal(json_string_value(member("title")),
	                    http_status_phrase((unsigned)status));
	assert_string_equal(json_string_value(member("detail")), detail);
	if (parameter)
		assert_string_equal(json_string_value(member("parameter")), parameter);
	assert_int_equal(json_object_size(body), parameter ? 4 : 3);
}

void expect_header(const char *name, const char *value)
{
	const char *found = response_header(&response, name);

	assert_non_null(found);
	assert_string_equal(found, value);
	assert_int_equal(response.headers_len, strlen(name) + strlen(value) + 2);
}
