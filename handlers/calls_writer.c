#include "handlers/calls_writer.h"

#include <errno.h>
#include <stdint.h>

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
		.memory = writing->memory,
		.calls = calls,
		.count = count,
		.by_completion = writing->by_completion,
	};
	text_buffer_init(&writer->buffer, SIZE_MAX);
}

void calls_writer_finish(struct calls_writer *writer)
{
	calls_writer_give_memory(writer);
	text_buffer_finish(&writer->buffer);
}

int calls_writer_begin(struct calls_writer *writer)
{
	return writer->ops->begin(writer);
}

int calls_writer_result(struct calls_writer *writer, struct calls_call *call)
{
	return writer->ops->result(writer, call);
}

int calls_writer_end(struct calls_writer *writer, const struct calls_coverage *coverage)
{
	return writer->ops->end(writer, coverage);
}

void calls_writer_give_memory(struct calls_writer *writer)
{
	reply_memory_give(writer->memory, writer->memory_taken);
	writer->memory_taken = 0;
}

/* Hold @printed bytes instead of what @made has taken for its reply. */
static bool exchange_memory(struct calls_writer *writer, struct http_call *made, size_t printed)
{
	size_t taken = made->memory_taken;

	if (printed > taken && !reply_memory_take(writer->memory, printed - taken))
		return false;
	if (printed < taken)
		reply_memory_give(writer->memory, taken - printed);
	made->memory_taken = 0;
	writer->memory_taken += printed;
	return true;
}

/* For what is printed of a failure the plan has left room. False: there is none for the reply, and
 * nothing was printed. */
static bool print(struct calls_writer *writer, struct calls_call *call)
{
	struct text_buffer *buffer = &writer->buffer;
	size_t before = buffer->length;

	calls_call_print(call, buffer);
	if (!buffer->error && (call->outcome != HTTP_OK ||
	                       exchange_memory(writer, &call->made, buffer->length - before)))
		return true;
	text_buffer_cut(buffer, before);
	return false;
}

int calls_writer_print(struct calls_writer *writer, struct calls_call *call)
{
	bool is_printed = print(writer, call);

	if (!is_printed && call->outcome == HTTP_OK) {
		http_call_finish(&call->made);
		call->outcome = HTTP_TOO_LARGE;
		is_printed = print(writer, call);
	}
	http_call_finish(&call->made);
	if (!is_printed)
		writer->buffer.error = -ENOBUFS;
	return writer->buffer.error;
}
