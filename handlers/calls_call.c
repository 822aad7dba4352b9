#include "handlers/calls_call.h"

#include <string.h>

#include "handlers/batch_summary.h"

static void print_reply(const struct calls_call *call, struct text_buffer *buffer)
{
	const struct http_call *made = &call->made;

	text_buffer_append(buffer, ",\"status\":");
	text_buffer_append_unsigned(buffer, (unsigned)made->status);
	text_buffer_append(buffer, ",\"headers\":");
	calls_reply_print_headers(buffer, made->reply_headers, made->reply_header_count);
	text_buffer_append(buffer, ",\"body\":");
	calls_reply_print_body(buffer, call->reply, made->reply ? made->reply : "",
	                       made->reply ? made->reply_len : 0);
}

static void print_outcome(const struct calls_call *call, struct text_buffer *buffer)
{
	if (call->outcome == CALLS_DEPENDENCY_FAILED) {
		/* As a batch of OData, 11.7.7, answers for a call that it does not make. */
		text_buffer_append(buffer, ",\"status\":424,\"headers\":{},\"body\":\"\"");
		return;
	}
	text_buffer_append(buffer, ",\"error\":\"");
	text_buffer_append(buffer, batch_outcome_name(call->outcome));
	text_buffer_append(buffer, "\"");
}

/* Milliseconds with one decimal, rounded to the nearest. */
static void print_tail(const struct calls_call *call, struct text_buffer *buffer)
{
	text_buffer_append(buffer, ",\"ms\":");
	text_buffer_append_tenths(buffer, ((uint64_t)call->made.elapsed_ns + 50000) / 100000);
	text_buffer_append(buffer, ",\"attempts\":");
	text_buffer_append_unsigned(buffer, call->made.attempts);
	text_buffer_append(buffer, "}");
}

static void print_head(const struct calls_call *call, struct text_buffer *buffer)
{
	text_buffer_append(buffer, "{\"id\":\"");
	text_buffer_append_escaped(buffer, call->entry->id, call->entry->id_length);
	text_buffer_append(buffer, "\"");
}

void calls_call_print(const struct calls_call *call, struct text_buffer *buffer)
{
	print_head(call, buffer);
	if (call->outcome == HTTP_OK)
		print_reply(call, buffer);
	else
		print_outcome(call, buffer);
	print_tail(call, buffer);
}

void calls_coverage_add(struct calls_coverage *coverage, const struct calls_call *call)
{
	coverage->requested++;
	coverage->outcomes[call->outcome]++;
	if (calls_call_is_success(call))
		coverage->succeeded++;
	else if (call->outcome == HTTP_OK)
		coverage->bad_status++;
}

bool calls_coverage_is_overload(const struct calls_coverage *coverage)
{
	size_t turned_away =
		coverage->outcomes[HTTP_NO_PERMIT] + coverage->outcomes[BATCH_REJECTED];

	return turned_away == coverage->requested;
}

static void print_count(struct text_buffer *buffer, const char *name, size_t count)
{
	if (count == 0)
		return;
	text_buffer_append(buffer, "\"");
	text_buffer_append(buffer, name);
	text_buffer_append(buffer, "\":");
	text_buffer_append_unsigned(buffer, count);
	text_buffer_append(buffer, ",");
}

void calls_coverage_print(const struct calls_coverage *coverage, struct text_buffer *buffer)
{
	text_buffer_append(buffer, "{\"requested\":");
	text_buffer_append_unsigned(buffer, coverage->requested);
	text_buffer_append(buffer, ",\"succeeded\":");
	text_buffer_append_unsigned(buffer, coverage->succeeded);
	text_buffer_append(buffer, ",\"percent\":");
	text_buffer_append_tenths(buffer,
	                          tenths_of_percent(coverage->succeeded, coverage->requested));
	text_buffer_append(buffer, ",\"degraded\":{");
	for (unsigned outcome = HTTP_OK + 1; outcome < BATCH_OUTCOMES; outcome++)
		print_count(buffer, batch_outcome_name(outcome), coverage->outcomes[outcome]);
	print_count(buffer, "failed_dependency", coverage->outcomes[CALLS_DEPENDENCY_FAILED]);
	print_count(buffer, "bad_status", coverage->bad_status);
	text_buffer_trim(buffer, ',');
	text_buffer_append(buffer, "}}");
}
