#include "handlers/batch_request.h"

#include <errno.h>
#include <stdlib.h>

#include "handlers/admission.h"
#include "handlers/batch_answer.h"
#include "handlers/batch_summary.h"

enum { DETAIL_BYTES = 160 }; /* of a call in the answer, and for the growing of its text */

struct query_parameter batch_parameter_n(const struct batch_limits *limits)
{
	return (struct query_parameter){"n", .required = true, .min = 1, .max = limits->max_n};
}

struct query_parameter batch_parameter_deadline(const struct batch_limits *limits)
{
	uint64_t max_ms = (uint64_t)limits->deadline_ms;

	return (struct query_parameter){"deadline_ms", .min = 1, .max = max_ms, .number = max_ms};
}

struct query_parameter batch_parameter_executor(const struct batch_limits *limits)
{
	return (struct query_parameter){
		"executor",
		.kind = QUERY_WORD,
		.words = limits->executors,
		.refused = limits->executors ? NULL : "needs --compare",
	};
}

static uint64_t bytes_for(unsigned n)
{
	return batch_bytes(n) + batch_summary_bytes(n);
}

/* The request's deadline is its arrival plus the server's whole deadline_ms. */
static struct deadline earlier_by_parameter(struct deadline request_deadline,
                                            const struct batch_request *wanted)
{
	int64_t unused_ms = wanted->limits->deadline_ms - wanted->deadline_ms;

	return (struct deadline){request_deadline.ns - unused_ms * 1000000};
}

void batch_respond_overloaded(struct response *response, const char *detail)
{
	response_problem(response, 503, NULL, "%s", detail);
	response_add_header(response, "Retry-After", "1");
}

void batch_respond_over_memory(struct response *response, const char *what,
                               const struct batch_limits *limits)
{
	response_problem(response, 503, NULL,
	                 "the %s more than the %zu bytes of max-request-bytes-in-memory", what,
	                 limits->max_memory_bytes);
	response_add_header(response, "Retry-After", "1");
}

/* Consumes the text in @buffer. */
static void respond(struct response *response, struct text_buffer *buffer,
                    const struct batch_summary *summary)
{
	response->status = 200;
	response->content_type = "application/json";
	(void)text_buffer_take(buffer, &response->body, &response->body_len);
	if (batch_summary_is_overload(summary)) {
		response->status = 503;
		response_add_header(response, "Retry-After", "1");
	}
}

static void answer(const struct batch_answer *what, const struct batch_request *wanted,
                   struct response *response)
{
	const struct batch_limits *limits = wanted->limits;
	struct text_buffer buffer;

	text_buffer_init(&buffer, limits->max_memory_bytes - (size_t)bytes_for(wanted->n));
	batch_answer_print(what, &buffer);
	if (!buffer.error)
		respond(response, &buffer, what->summary);
	else if (buffer.error == -ENOBUFS)
		batch_respond_over_memory(response, "answer needs", limits);
	else
		batch_respond_overloaded(response, "out of memory for the answer");
	text_buffer_finish(&buffer);
}

static void run_and_answer(const struct batch_request *wanted, const struct request *request,
                           struct batch *batch, struct batch_summary *summary,
                           struct response *response)
{
	int64_t started_ns = deadline_now_ns();
	struct scope_options scope = {
		.max_parallel = wanted->max_parallel,
		.deadline = earlier_by_parameter(request->deadline, wanted),
	};
	struct batch_answer what = {
		.client = wanted->work->client,
		.summary = summary,
		.batch = batch,
	};

	batch_run(batch, wanted->work, &scope);
	what.executor = task_executor_name();
	what.elapsed_ns = deadline_now_ns() - started_ns;
	/* Nobody reads the answer to a client that has gone: keep it short. */
	what.detail = wanted->detail && task_cancel_reason() != CANCEL_CLIENT_GONE;
	batch_summary_fill(summary, batch);
	answer(&what, wanted, response);
}

static struct admission_need need_of(const struct batch_request *wanted)
{
	unsigned n = wanted->n, at_once = wanted->max_parallel;

	return (struct admission_need){
		.in_flight = at_once > 0 && at_once < n ? at_once : n,
		.call_bytes = wanted->work->call_bytes,
		.other_bytes = bytes_for(n) + (wanted->detail ? DETAIL_BYTES * (uint64_t)n : 0),
	};
}

static void allocate_and_run(const struct batch_request *wanted, const struct request *request,
                             struct response *response)
{
	struct batch *batch = batch_create(wanted->n);
	struct batch_summary *summary = batch_summary_create(wanted->n);

	if (batch && summary)
		run_and_answer(wanted, request, batch, summary, response);
	else
		batch_respond_overloaded(response, "out of memory for the calls");
	free(summary);
	free(batch);
}

void batch_respond(const struct batch_request *wanted, const struct request *request,
                   struct response *response)
{
	struct admission_need need = need_of(wanted);
	struct memory_budget *memory = wanted->limits->memory;
	size_t taken;

	if (bytes_for(wanted->n) > wanted->limits->max_memory_bytes) {
		batch_respond_over_memory(response, "calls need", wanted->limits);
		return;
	}
	if (!admission_enter(memory, &need, response, &taken))
		return;
	allocate_and_run(wanted, request, response);
	admission_leave(memory, taken, response);
}
