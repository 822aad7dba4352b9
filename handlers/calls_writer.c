#include "handlers/calls_writer.h"

const char *const calls_media_types[CALLS_FORMATS] = {
	[CALLS_JSON] = "application/json",
	[CALLS_NDJSON] = "application/x-ndjson",
	[CALLS_EVENTS] = "text/event-stream",
};

void calls_writer_init(struct calls_writer *writer, const struct calls_writing *writing,
                       struct calls_call *calls, size_t count, struct response *response)
{
	*writer = (struct calls_writer){
		.ops = writing->format == CALLS_JSON ? &calls_whole_ops : &calls_stream_ops,
		.format = writing->format,
		.response = response,
		.deadline = writing->deadline,
		.calls = calls,
		.count = count,
		.by_completion = writing->by_completion,
	};
	text_buffer_init(&writer->buffer, writing->max_bytes);
}

void calls_writer_finish(struct calls_writer *writer)
{
	text_buffer_finish(&writer->buffer);
}

int calls_writer_begin(struct calls_writer *writer)
{
	return writer->ops->begin(writer);
}

int calls_writer_result(struct calls_writer *writer, struct calls_call *call)
{
	size_t room = writer->buffer.max_bytes - writer->buffer.length;

	if (call->kept_bytes > room || writer->held_bytes > room - call->kept_bytes) {
		http_call_finish(&call->made);
		call->outcome = HTTP_TOO_LARGE;
		call->kept_bytes = 0;
	}
	writer->held_bytes += call->kept_bytes;
	return writer->ops->result(writer, call);
}

int calls_writer_end(struct calls_writer *writer, const struct calls_coverage *coverage)
{
	return writer->ops->end(writer, coverage);
}

int calls_writer_print(struct calls_writer *writer, struct calls_call *call)
{
	calls_call_print(call, &writer->buffer);
	http_call_finish(&call->made);
	writer->held_bytes -= call->kept_bytes;
	return writer->buffer.error;
}
