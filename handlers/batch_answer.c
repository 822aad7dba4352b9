#include "handlers/batch_answer.h"

#include "executors/task.h"

enum { CALLS_BETWEEN_YIELDS = 1000 };

/* Printed piece by piece: `"name":` and what follows it. */
static void append_key(struct text_buffer *buffer, const char *name)
{
	text_buffer_append(buffer, "\"");
	text_buffer_append(buffer, name);
	text_buffer_append(buffer, "\":");
}

static void append_text(struct text_buffer *buffer, const char *name, const char *value)
{
	append_key(buffer, name);
	text_buffer_append(buffer, "\"");
	text_buffer_append(buffer, value);
	text_buffer_append(buffer, "\",");
}

static void append_number(struct text_buffer *buffer, const char *name, uint64_t value)
{
	append_key(buffer, name);
	text_buffer_append_unsigned(buffer, value);
	text_buffer_append(buffer, ",");
}

/* Milliseconds with one decimal, rounded to the nearest. */
static void append_ms(struct text_buffer *buffer, const char *name, int64_t ns)
{
	append_key(buffer, name);
	text_buffer_append_tenths(buffer, ((uint64_t)ns + 50000) / 100000);
	text_buffer_append(buffer, ",");
}

static void open_object(struct text_buffer *buffer)
{
	text_buffer_append(buffer, "{");
}

/* Each member left a comma behind it. */
static void close_object(struct text_buffer *buffer)
{
	text_buffer_trim(buffer, ',');
	text_buffer_append(buffer, "},");
}

static void append_call_ms(struct text_buffer *buffer, const struct batch_summary *summary)
{
	const int64_t *elapsed_ns = summary->elapsed_ns;
	size_t count = summary->whole;

	append_key(buffer, "call_ms");
	if (count == 0) {
		text_buffer_append(buffer, "null,");
		return;
	}
	open_object(buffer);
	append_ms(buffer, "min", elapsed_ns[0]);
	append_ms(buffer, "p50", nearest_rank(elapsed_ns, count, 50));
	append_ms(buffer, "p90", nearest_rank(elapsed_ns, count, 90));
	append_ms(buffer, "p99", nearest_rank(elapsed_ns, count, 99));
	append_ms(buffer, "max", elapsed_ns[count - 1]);
	close_object(buffer);
}

static void append_statuses(struct text_buffer *buffer, const struct batch_summary *summary)
{
	append_key(buffer, "statuses");
	open_object(buffer);
	for (unsigned status = 0; status < BATCH_STATUS_LIMIT; status++) {
		if (summary->statuses[status] == 0)
			continue;
		text_buffer_append(buffer, "\"");
		text_buffer_append_unsigned(buffer, status);
		text_buffer_append(buffer, "\":");
		text_buffer_append_unsigned(buffer, summary->statuses[status]);
		text_buffer_append(buffer, ",");
	}
	close_object(buffer);
}

static void append_errors(struct text_buffer *buffer, const char *name,
                          const struct batch_summary *summary)
{
	append_key(buffer, name);
	open_object(buffer);
	for (unsigned outcome = HTTP_OK + 1; outcome < BATCH_OUTCOMES; outcome++)
		if (summary->errors[outcome] > 0)
			append_number(buffer, batch_outcome_name(outcome),
			              summary->errors[outcome]);
	close_object(buffer);
}

static void append_coverage(struct text_buffer *buffer, const struct batch_summary *summary)
{
	append_key(buffer, "coverage");
	open_object(buffer);
	append_number(buffer, "requested", summary->requested);
	append_number(buffer, "succeeded", summary->ok);
	append_key(buffer, "percent");
	text_buffer_append_tenths(buffer, tenths_of_percent(summary->ok, summary->requested));
	text_buffer_append(buffer, ",");
	append_errors(buffer, "degraded", summary);
	close_object(buffer);
}

static void append_call(struct text_buffer *buffer, size_t index, const struct batch_child *child)
{
	open_object(buffer);
	append_number(buffer, "i", index);
	if (child->outcome == HTTP_OK)
		append_number(buffer, "status", (unsigned)child->status);
	else
		append_text(buffer, "error", batch_outcome_name(child->outcome));
	append_ms(buffer, "ms", child->elapsed_ns);
	if (child->outcome == HTTP_OK)
		append_number(buffer, "bytes", child->reply_len);
	close_object(buffer);
}

static void append_calls(struct text_buffer *buffer, const struct batch *batch)
{
	append_key(buffer, "calls");
	text_buffer_append(buffer, "[");
	for (size_t i = 0; i < batch->count && !buffer->error; i++) {
		append_call(buffer, i, &batch->each[i]);
		if (i % CALLS_BETWEEN_YIELDS == CALLS_BETWEEN_YIELDS - 1)
			task_yield();
	}
	text_buffer_trim(buffer, ',');
	text_buffer_append(buffer, "],");
}

void batch_answer_print(const struct batch_answer *answer, struct text_buffer *buffer)
{
	const struct batch_summary *summary = answer->summary;
	const struct batch *batch = answer->batch;

	open_object(buffer);
	append_text(buffer, "executor", answer->executor);
	if (answer->client)
		append_text(buffer, "client", answer->client);
	append_number(buffer, "n", summary->requested);
	append_number(buffer, "ok", summary->ok);
	append_number(buffer, "failed", summary->requested - summary->ok);
	append_ms(buffer, "elapsed_ms", answer->elapsed_ns);
	append_call_ms(buffer, summary);
	if (answer->client)
		append_statuses(buffer, summary);
	append_errors(buffer, "errors", summary);
	append_coverage(buffer, summary);
	/* Every child has ended: nobody changes it any more. */
	append_number(buffer, "peak_in_flight",
	              atomic_load_explicit(&batch->peak_in_flight, memory_order_relaxed));
	if (answer->detail)
		append_calls(buffer, batch);
	close_object(buffer);
	text_buffer_trim(buffer, ',');
}
