#include "handlers/calls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients/upstream_set.h"
#include "handlers/accept.h"
#include "handlers/admission.h"
#include "handlers/calls_deadline.h"
#include "handlers/calls_graph.h"
#include "handlers/calls_plan.h"
#include "handlers/calls_request.h"
#include "handlers/calls_run.h"
#include "handlers/calls_writer.h"
#include "handlers/prefer_wait.h"

/* The part of the memory that replies to a stream's calls may fill: a quarter, because what has
 * come is not what will come. */
enum { STREAM_SHARE = 4 };

/* What jansson makes of a byte of a list, about. */
enum { TREE_BYTES_OF_A_BYTE = 8 };

struct calls_handler {
	struct handler handler;
	struct calls_options options;
};

/* One request on its way through the parts. */
struct serving {
	const struct calls_options *options;
	const struct request *http;
	struct response *response;
	enum calls_format format;
	struct calls_request request;
	struct calls_graph graph;
	struct upstream_set *set; /* a reference */
	struct calls_plan plan;
	struct reply_memory memory; /* for the replies, and what is printed of them */
	size_t taken;               /* of the memory that all requests have together */
	struct calls_violation violation;
};

/* What is left of the request's memory after @used. */
static size_t memory_left(const struct serving *serving, size_t used)
{
	size_t all = serving->options->limits.max_memory_bytes;

	return used < all ? all - used : 0;
}

/* The numbers that the graph and the run are made of. */
static size_t bytes_of_numbers(const struct serving *serving)
{
	return 3 * calls_run_bytes(serving->request.count);
}

static void respond_to(struct serving *serving, int error, const char *what)
{
	switch (error) {
	case -EINVAL:
		calls_violation_respond(&serving->violation, serving->response);
		break;
	case -ENOBUFS:
		batch_respond_over_memory(serving->response, what, &serving->options->limits);
		break;
	default:
		batch_respond_overloaded(serving->response, "out of memory for the calls");
		break;
	}
}

/* The value of all headers of that name, as RFC 9110, 5.3 joins them. */
static struct text_buffer join_headers(const struct request *http, const char *name)
{
	struct text_buffer joined;

	text_buffer_init(&joined, SIZE_MAX);
	for (const char *value = request_header(http, name); value;
	     value = request_header_next(http, name, value)) {
		text_buffer_append(&joined, value);
		text_buffer_append(&joined, ",");
	}
	text_buffer_trim(&joined, ',');
	text_buffer_append_bytes(&joined, "", 1); /* its NUL */
	return joined;
}

static int choose_format(struct serving *serving)
{
	struct text_buffer accept = join_headers(serving->http, "accept");
	int chosen = accept_choose(accept.data, calls_media_types, CALLS_FORMATS);

	text_buffer_finish(&accept);
	if (chosen < 0) {
		response_problem(serving->response, 406, NULL,
		                 "answers are application/json, application/x-ndjson or "
		                 "text/event-stream");
		return chosen;
	}
	serving->format = (enum calls_format)chosen;
	return 0;
}

static int read_query(struct serving *serving)
{
	struct query_parameter executor = batch_parameter_executor(&serving->options->limits);
	struct query_error error;
	int result = query_read(serving->http->query, &executor, 1, &error);

	if (result)
		response_bad_query(serving->response, &error);
	return result;
}

static int read_request(struct serving *serving)
{
	const struct batch_limits *limits = &serving->options->limits;
	struct calls_bounds bounds = {
		.max_n = limits->max_n,
		.deadline_ms = limits->deadline_ms,
		.call_timeout_ms = serving->options->call_timeout_ms,
		.memory_bytes = limits->max_memory_bytes,
	};
	int error = calls_request_read(serving->http->body, serving->http->body_len, &bounds,
	                               &serving->request, &serving->violation);

	if (error || !serving->request.has_order || serving->request.by_completion ||
	    serving->format == CALLS_JSON)
		return error;
	json_pointer_add_member(&serving->violation.pointer, "order", strlen("order"));
	return calls_violate(&serving->violation, "a stream is in the order of completion");
}

static int plan(struct serving *serving)
{
	struct calls_planning planning = {
		.set = serving->set,
		.call_timeout_ms = serving->options->call_timeout_ms,
		.max_reply_bytes = serving->options->max_reply_bytes,
		.memory_bytes =
			memory_left(serving, serving->request.bytes + bytes_of_numbers(serving)),
		.replies = &serving->memory,
	};
	int error = calls_graph_build(&serving->request, &serving->graph, &serving->violation);

	if (error)
		return error;
	return calls_plan_make(&serving->request, &planning, &serving->plan, &serving->violation);
}

/* The earlier of what the list and `Prefer: wait` ask for; at most what the server allows. */
static int64_t deadline_ms(const struct serving *serving)
{
	struct text_buffer prefer = join_headers(serving->http, "prefer");
	int64_t most_ms = serving->options->limits.deadline_ms;
	uint64_t wait_s;

	if (serving->request.deadline_ms > 0)
		most_ms = serving->request.deadline_ms;
	if (prefer_wait_read(prefer.data, &wait_s)) {
		int64_t wait_ms = wait_s > 0 ? (int64_t)wait_s * 1000 : 1;

		response_add_header(serving->response, "Preference-Applied", "wait");
		most_ms = wait_ms < most_ms ? wait_ms : most_ms;
	}
	text_buffer_finish(&prefer);
	return most_ms;
}

static struct calls_deadlines deadlines(const struct serving *serving)
{
	/* The request's deadline is its arrival plus all that the server allows. */
	int64_t arrival_ns =
		serving->http->deadline.ns - serving->options->limits.deadline_ms * 1000000;

	return calls_deadlines(arrival_ns, deadline_ms(serving), serving->request.count);
}

static struct calls_coverage cover(const struct calls_plan *plan)
{
	struct calls_coverage coverage = {0};

	for (size_t i = 0; i < plan->count; i++)
		calls_coverage_add(&coverage, &plan->calls[i]);
	return coverage;
}

/*
 * What the calls need at once, and the request beside them: for @used, and for the replies and what
 * is printed of them, which count up to @left. Twice that: where a reply was the allocator has a
 * hole, which the text does not fit into.
 */
static struct admission_need need_of(const struct serving *serving, size_t used, size_t left)
{
	const struct calls_plan *plan = &serving->plan;
	uint64_t at_once = serving->request.max_parallel, replies;
	struct admission_need need = {.in_flight = plan->count};

	for (size_t i = 0; i < plan->count; i++) {
		const struct calls_call *call = &plan->calls[i];
		uint64_t bytes = http_call_memory_bytes(call->upstream->client, call->made.url);

		need.call_bytes = bytes > need.call_bytes ? bytes : need.call_bytes;
	}
	if (at_once > 0 && at_once < need.in_flight)
		need.in_flight = at_once;
	replies = 2 * plan->count * (uint64_t)serving->options->max_reply_bytes;
	need.other_bytes = used + 2 * (replies < left ? replies : left);
	return need;
}

static int run(struct serving *serving, const struct calls_running *how,
               struct calls_writer *writer)
{
	struct calls_plan *plan = &serving->plan;
	struct calls_coverage coverage;
	int error = calls_writer_begin(writer);

	if (!error)
		error = calls_run(plan->calls, plan->count, &serving->graph, how, writer);
	if (error)
		return error;
	coverage = cover(plan);
	return calls_writer_end(writer, &coverage);
}

static void run_and_answer(struct serving *serving, size_t left)
{
	const struct calls_request *request = &serving->request;
	struct calls_deadlines until = deadlines(serving);
	struct calls_writing writing = {
		.format = serving->format,
		.by_completion = request->by_completion,
		.deadline = until.answer,
		.memory = &serving->memory,
	};
	struct calls_running how = {
		.policy = request->policy,
		.quorum = request->quorum,
		.max_parallel = request->max_parallel,
		.deadline = until.calls,
	};
	struct calls_writer writer;
	int error;

	reply_memory_init(&serving->memory, left);
	calls_writer_init(&writer, &writing, serving->plan.calls, serving->plan.count,
	                  serving->response);
	if (calls_writer_streams(&writer))
		how.window_bytes = left / STREAM_SHARE;
	error = run(serving, &how, &writer);
	calls_writer_finish(&writer);
	if (error && serving->response->is_streamed)
		response_stream_fail(serving->response, error);
	else if (error)
		respond_to(serving, error, "answer needs");
}

/* False: it has been answered. */
static bool enter(struct serving *serving, const struct admission_need *need)
{
	size_t taken;

	if (!admission_enter(serving->options->limits.memory, need, serving->response, &taken))
		return false;
	serving->taken += taken;
	return true;
}

static void enter_and_run(struct serving *serving)
{
	size_t used = serving->request.bytes + bytes_of_numbers(serving) + serving->plan.bytes;
	size_t left = memory_left(serving, used);
	struct memory_budget *memory = serving->options->limits.memory;
	struct admission_need need;

	if (!memory) {
		run_and_answer(serving, left);
		return;
	}
	need = need_of(serving, used, left);
	if (!enter(serving, &need) ||
	    !admission_keep(memory, (size_t)need.other_bytes, serving->response))
		return;
	run_and_answer(serving, left);
	memory_budget_unkeep(memory, (size_t)need.other_bytes);
}

/* Before it is known what the list asks for there is the list, and soon its tree. */
static bool enter_to_read(struct serving *serving)
{
	return enter(serving,
	             &(struct admission_need){.other_bytes = TREE_BYTES_OF_A_BYTE *
	                                                     (uint64_t)serving->http->body_len});
}

static int prepare(struct serving *serving)
{
	int error = read_request(serving);

	return error ? error : plan(serving);
}

static void finish(struct serving *serving)
{
	for (size_t i = 0; i < serving->plan.count; i++)
		http_call_finish(&serving->plan.calls[i].made);
	calls_plan_finish(&serving->plan);
	calls_graph_finish(&serving->graph);
	calls_request_finish(&serving->request);
	upstream_set_release(serving->set);
}

static void calls_serve(struct handler *handler, const struct request *request,
                        struct response *response)
{
	struct calls_handler *self = (struct calls_handler *)handler;
	struct calls_options options = self->options;
	struct serving serving = {
		.options = &options,
		.http = request,
		.response = response,
	};
	int error;

	live_limits_read(options.live, &options.limits, &options.call_timeout_ms,
	                 &options.max_reply_bytes);
	options.limits.max_memory_bytes =
		admission_share(options.limits.memory, options.limits.max_memory_bytes);
	if (choose_format(&serving) || read_query(&serving))
		return;
	if (!enter_to_read(&serving))
		return;
	serving.set = upstream_holder_acquire(options.upstreams);
	error = prepare(&serving);
	if (error)
		respond_to(&serving, error, "calls need");
	else
		enter_and_run(&serving);
	finish(&serving);
	admission_leave(options.limits.memory, serving.taken, response);
}

static void calls_destroy(struct handler *handler)
{
	free(handler); /* the first member of its struct */
}

int calls_handler_create(const struct calls_options *options, struct handler **out)
{
	struct calls_handler *self = calloc(1, sizeof(*self));

	assert(options->limits.max_n > 0 && options->limits.deadline_ms > 0);
	assert(options->max_reply_bytes > 0 && options->call_timeout_ms > 0);
	if (!self)
		return -ENOMEM;
	self->handler =
		(struct handler){"POST", "/fanout", calls_serve, calls_destroy, "application/json"};
	self->options = *options;
	json_arena_install();
	*out = &self->handler;
	return 0;
}
