#include "handlers/calls_call.h"

#include <stddef.h>
#include <string.h>

#include "clients/upstream_set.h"
#include "handlers/calls_judge.h"
#include "handlers/request_context.h"

/* Behind the headers of the plan, so that each call has a span of its own. @context lasts as long
 * as the call. */
static void add_context(struct calls_call *call, struct request_context_call *context)
{
	const struct request_context *of_request = request_context_current();
	struct http_header *end = call->headers + call->header_count;

	if (of_request) {
		request_context_call(of_request, call->number, context);
		*end++ = (struct http_header){"traceparent", context->traceparent};
		*end++ = (struct http_header){"X-Request-Id", context->request_id};
		if (context->tracestate)
			*end++ = (struct http_header){"tracestate", context->tracestate};
	}
	call->made.headers = call->headers;
	call->made.header_count = (size_t)(end - call->headers);
}

/* The client has taken memory for the body alone, if at all. */
static bool take_memory(struct http_call *made)
{
	size_t bytes = made->reply ? made->reply_len + 1 : 0;

	if (bytes < made->memory_taken)
		bytes = made->memory_taken;
	return http_call_take_memory(made, bytes + made->reply_header_bytes);
}

static unsigned look_at_reply(struct calls_call *call)
{
	struct http_call *made = &call->made;
	const char *type =
		http_header_find(made->reply_headers, made->reply_header_count, "content-type");

	if (made->status <= 0 || made->status > 999)
		return HTTP_PROTOCOL;
	if (!take_memory(made))
		return HTTP_TOO_LARGE;
	if (made->reply)
		call->reply =
			calls_reply_kind(type, made->reply, made->reply_len, call->memory_bytes);
	return HTTP_OK;
}

int calls_call_make(struct task *task)
{
	struct calls_call *call =
		(struct calls_call *)((char *)task - offsetof(struct calls_call, task));
	struct request_context_call context;

	call->has_run = true;
	add_context(call, &context);
	call->outcome = http_call(call->upstream->client, &call->made, task_deadline());
	call->made.headers = NULL; /* they point to @context */
	call->made.header_count = 0;
	if (call->outcome == HTTP_OK)
		call->outcome = look_at_reply(call);
	if (call->outcome != HTTP_OK)
		http_call_finish(&call->made);
	calls_judge_tell(call->judge, calls_call_is_success(call));
	return 0;
}
