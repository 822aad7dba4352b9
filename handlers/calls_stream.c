#include "handlers/calls_writer.h"

/* The answer as it comes: newline-delimited JSON (https://github.com/ndjson/ndjson-spec), or
 * server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

static const struct framing {
	const char *before_result, *before_coverage;
	const char *after_result, *after_coverage;
} framings[] = {
	[CALLS_NDJSON] = {"", "{\"coverage\":", "\n", "}\n"},
	[CALLS_EVENTS] = {"data: ", "event: coverage\ndata: ", "\n\n", "\n\n"},
};

static int begin(struct calls_writer *writer)
{
	/* A proxy that collects the answer would defeat it. */
	response_add_header(writer->response, "Cache-Control", "no-store");
	response_add_header(writer->response, "X-Accel-Buffering", "no");
	return response_stream_begin(writer->response, 200, calls_media_types[writer->format]);
}

/* Hand over what has been printed, and begin anew in the same memory. */
static int flush(struct calls_writer *writer)
{
	struct text_buffer *buffer = &writer->buffer;
	int error = buffer->error;

	if (!error)
		error = response_stream_write(writer->response, buffer->data, buffer->length,
		                              writer->deadline);
	text_buffer_cut(buffer, 0);
	calls_writer_give_memory(writer);
	return error;
}

static int result(struct calls_writer *writer, struct calls_call *call)
{
	const struct framing *framing = &framings[writer->format];

	text_buffer_append(&writer->buffer, framing->before_result);
	(void)calls_writer_print(writer, call);
	text_buffer_append(&writer->buffer, framing->after_result);
	return flush(writer);
}

static int end(struct calls_writer *writer, const struct calls_coverage *coverage)
{
	const struct framing *framing = &framings[writer->format];

	text_buffer_append(&writer->buffer, framing->before_coverage);
	calls_coverage_print(coverage, &writer->buffer);
	text_buffer_append(&writer->buffer, framing->after_coverage);
	return flush(writer);
}

const struct calls_writer_ops calls_stream_ops = {begin, result, end};
