#include "handlers/calls_writer.h"

/* The answer as one JSON object, printed as the results come, and handed over at the end. */

static int begin(struct calls_writer *writer)
{
	text_buffer_append(&writer->buffer, "{\"responses\":[");
	return writer->buffer.error;
}

static int print(struct calls_writer *writer, struct calls_call *call)
{
	int error = calls_writer_print(writer, call);

	text_buffer_append(&writer->buffer, ",");
	return error;
}

static int result(struct calls_writer *writer, struct calls_call *call)
{
	int error = 0;

	if (writer->by_completion)
		return print(writer, call);
	while (!error && writer->next < writer->count && writer->calls[writer->next].is_settled)
		error = print(writer, &writer->calls[writer->next++]);
	return error;
}

static int end(struct calls_writer *writer, const struct calls_coverage *coverage)
{
	struct response *response = writer->response;
	struct text_buffer *buffer = &writer->buffer;
	int error;

	text_buffer_trim(buffer, ',');
	text_buffer_append(buffer, "],\"coverage\":");
	calls_coverage_print(coverage, buffer);
	text_buffer_append(buffer, "}");
	error = text_buffer_take(buffer, &response->body, &response->body_len);
	if (error)
		return error;
	response->status = 200;
	response->content_type = calls_media_types[CALLS_JSON];
	if (calls_coverage_is_overload(coverage)) {
		response->status = 503;
		response_add_header(response, "Retry-After", "1");
	}
	return 0;
}

const struct calls_writer_ops calls_whole_ops = {begin, result, end};
