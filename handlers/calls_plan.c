#include "handlers/calls_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/base64.h"

/* While the plan is made. What it takes is measured first, and then filled in. */
struct planner {
	const struct calls_planning *planning;
	struct calls_violation *violation;
	struct calls_plan plan;
	size_t text_bytes, header_count;
	char *text;                 /* where the next text goes */
	struct http_header *header; /* and the next header */
};

static int find_upstream(struct planner *planner, struct calls_call *call)
{
	const struct upstream_set *set = planner->planning->set;
	const struct calls_entry *entry = call->entry;
	const char *reason;

	if (!calls_entry_is_path(entry)) {
		if (!upstream_set_find_absolute(set, entry->url, &call->upstream, &reason))
			return 0;
		calls_violation_in_call(planner->violation, call->number, "url");
		return calls_violate(planner->violation, "%s", reason);
	}
	call->upstream = upstream_set_find(set, entry->upstream);
	if (call->upstream)
		return 0;
	calls_violation_in_call(planner->violation, call->number,
	                        entry->upstream ? "upstream" : NULL);
	return calls_violate(planner->violation,
	                     entry->upstream ? "is not the name of an upstream"
	                                     : "upstream is missing, and there is no default one");
}

/* Room for all that a call may have, whatever takes whose place. */
static void measure(struct planner *planner, const struct calls_call *call)
{
	const struct calls_entry *entry = call->entry;

	if (calls_entry_is_path(entry))
		planner->text_bytes += strlen(call->upstream->origin) + entry->url_length + 1;
	if (entry->body_kind == CALLS_BODY_BASE64)
		planner->text_bytes += base64_decoded_bytes(json_string_length(entry->body));
	planner->plan.bytes += calls_call_failure_bytes(entry);
	planner->header_count += call->upstream->header_count + json_object_size(entry->headers) +
	                         1 + CALLS_CONTEXT_HEADERS;
}

static int measure_all(struct planner *planner, const struct calls_request *request)
{
	struct calls_plan *plan = &planner->plan;

	for (size_t i = 0; i < plan->count; i++) {
		struct calls_call *call = &plan->calls[i];
		int error;

		call->entry = &request->entries[i];
		call->number = i;
		error = find_upstream(planner, call);
		if (error)
			return error;
		measure(planner, call);
	}
	plan->bytes += planner->text_bytes + planner->header_count * sizeof(*plan->headers);
	return plan->bytes > planner->planning->memory_bytes ? -ENOBUFS : 0;
}

static void put_text(struct planner *planner, const char *text, size_t length)
{
	memcpy(planner->text, text, length);
	planner->text += length;
}

static void put_url(struct planner *planner, struct calls_call *call)
{
	const struct calls_entry *entry = call->entry;

	call->made.url = entry->url;
	if (!calls_entry_is_path(entry))
		return;
	call->made.url = planner->text;
	put_text(planner, call->upstream->origin, strlen(call->upstream->origin));
	put_text(planner, entry->url, entry->url_length + 1);
}

static bool has_header(const struct calls_call *call, const char *name)
{
	return http_header_find(call->headers, call->header_count, name);
}

static void put_header(struct planner *planner, struct calls_call *call, const char *name,
                       const char *value)
{
	*planner->header++ = (struct http_header){name, value};
	call->header_count++;
}

/* The call's own first, which take the place of those that are configured. */
static void put_headers(struct planner *planner, struct calls_call *call)
{
	static const char *const types[] = {
		[CALLS_BODY_JSON] = "application/json",
		[CALLS_BODY_BASE64] = "application/octet-stream",
	};
	const struct calls_entry *entry = call->entry;
	const struct named_upstream *upstream = call->upstream;

	call->headers = planner->header;
	for (void *at = json_object_iter(entry->headers); at;
	     at = json_object_iter_next(entry->headers, at))
		put_header(planner, call, json_object_iter_key(at),
		           json_string_value(json_object_iter_value(at)));
	if (entry->body_kind != CALLS_BODY_NONE && !entry->content_type)
		put_header(planner, call, "Content-Type", types[entry->body_kind]);
	call->made.repeatable = has_header(call, "idempotency-key");
	for (size_t i = 0; i < upstream->header_count; i++)
		if (!has_header(call, upstream->headers[i].name))
			put_header(planner, call, upstream->headers[i].name,
			           upstream->headers[i].value);
	planner->header += CALLS_CONTEXT_HEADERS;
}

static int put_json(struct planner *planner, struct calls_call *call)
{
	char *text = json_dumps(call->entry->body, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!text)
		return -ENOMEM;
	call->made.body = text;
	call->made.body_len = strlen(text);
	planner->plan.bytes += call->made.body_len + 1;
	return 0;
}

static int put_base64(struct planner *planner, struct calls_call *call)
{
	const json_t *body = call->entry->body;

	call->made.body = planner->text;
	if (base64_decode(json_string_value(body), json_string_length(body), planner->text,
	                  &call->made.body_len)) {
		calls_violation_in_call(planner->violation, call->number, "body");
		json_pointer_add_member(&planner->violation->pointer, "base64", strlen("base64"));
		return calls_violate(planner->violation, "is not base64");
	}
	planner->text += call->made.body_len;
	return 0;
}

static int put_body(struct planner *planner, struct calls_call *call)
{
	const json_t *body = call->entry->body;

	switch (call->entry->body_kind) {
	case CALLS_BODY_NONE:
		return 0;
	case CALLS_BODY_JSON:
		return put_json(planner, call);
	case CALLS_BODY_TEXT:
		call->made.body = json_string_value(body);
		call->made.body_len = json_string_length(body);
		return 0;
	case CALLS_BODY_BASE64:
		return put_base64(planner, call);
	}
	return -EINVAL;
}

static unsigned timeout_of(const struct calls_call *call, int64_t default_ms)
{
	if (call->entry->timeout_ms > 0)
		return call->entry->timeout_ms;
	return call->upstream->timeout_ms > 0 ? call->upstream->timeout_ms : (unsigned)default_ms;
}

static int fill(struct planner *planner, struct calls_call *call)
{
	const struct calls_planning *planning = planner->planning;

	call->memory_bytes = planning->memory_bytes;
	call->made.method = call->entry->method;
	call->made.addresses = call->upstream->addresses;
	call->made.keep_headers = true;
	call->made.memory = planning->replies;
	call->made.max_reply_bytes = planning->max_reply_bytes;
	call->made.timeout_ms = timeout_of(call, planning->call_timeout_ms);
	put_url(planner, call);
	put_headers(planner, call);
	return put_body(planner, call);
}

static int fill_all(struct planner *planner)
{
	struct calls_plan *plan = &planner->plan;

	plan->texts = malloc(planner->text_bytes + 1);
	plan->headers = malloc(planner->header_count * sizeof(*plan->headers));
	if (!plan->texts || !plan->headers)
		return -ENOMEM;
	planner->text = plan->texts;
	planner->header = plan->headers;
	for (size_t i = 0; i < plan->count; i++) {
		int error = fill(planner, &plan->calls[i]);

		if (error)
			return error;
	}
	return plan->bytes > planner->planning->memory_bytes ? -ENOBUFS : 0;
}

static int make(struct planner *planner, const struct calls_request *request)
{
	struct calls_plan *plan = &planner->plan;
	int error;

	plan->bytes = request->count * sizeof(*plan->calls);
	if (plan->bytes > planner->planning->memory_bytes)
		return -ENOBUFS;
	plan->calls = calloc(request->count, sizeof(*plan->calls));
	if (!plan->calls)
		return -ENOMEM;
	plan->count = request->count;
	error = measure_all(planner, request);
	return error ? error : fill_all(planner);
}

int calls_plan_make(const struct calls_request *request, const struct calls_planning *planning,
                    struct calls_plan *out, struct calls_violation *violation)
{
	struct planner planner = {.planning = planning, .violation = violation};
	int error = make(&planner, request);

	if (error)
		calls_plan_finish(&planner.plan);
	else
		*out = planner.plan;
	return error;
}

void calls_plan_finish(struct calls_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct calls_call *call = &plan->calls[i];

		/* The text that json_dumps() has made. */
		if (call->entry && call->entry->body_kind == CALLS_BODY_JSON)
			free((void *)call->made.body);
	}
	free(plan->calls);
	free(plan->headers);
	free(plan->texts);
	*plan = (struct calls_plan){0};
}
