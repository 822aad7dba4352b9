#ifndef HANDLERS_CALLS_WRITER_H
#define HANDLERS_CALLS_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/reply_memory.h"
#include "executors/deadline.h"
#include "handlers/calls_call.h"
#include "handlers/handler.h"
#include "handlers/text_buffer.h"

/*
 * The answer to a list of calls. There are three:
 *	application/json       one object, once all results are there
 *	application/x-ndjson   a line for each result as it comes, the coverage last
 *	text/event-stream      the same as events: unnamed ones, and `coverage`
 *
 * One task at a time.
 */
enum calls_format {
	CALLS_JSON,
	CALLS_NDJSON,
	CALLS_EVENTS,
	CALLS_FORMATS,
};

/** Media types in the order of enum calls_format. */
extern const char *const calls_media_types[CALLS_FORMATS];

struct calls_writer;

struct calls_writer_ops {
	int (*begin)(struct calls_writer *writer);
	int (*result)(struct calls_writer *writer, struct calls_call *call);
	int (*end)(struct calls_writer *writer, const struct calls_coverage *coverage);
};

struct calls_writer {
	const struct calls_writer_ops *ops;
	enum calls_format format;
	struct response *response;   /* borrowed */
	struct deadline deadline;    /* of writing to the client */
	struct text_buffer buffer;   /* what has been printed and not yet handed over */
	struct reply_memory *memory; /* borrowed; what is in @buffer is taken from it */
	size_t memory_taken;
	struct calls_call *calls; /* borrowed; the list */
	size_t count;
	bool by_completion; /* CALLS_JSON: print results as they come, not in the order of the list
	                     */
	size_t next;        /* CALLS_JSON in the order of the list: the first that is not printed */
};

/** How the answer is to look. */
struct calls_writing {
	enum calls_format format;
	bool by_completion;          /* CALLS_JSON alone; streams always are */
	struct deadline deadline;    /* after it nothing more is written */
	struct reply_memory *memory; /* for what is printed and not yet handed over: that of the
	                                calls, so that a reply makes room for its result */
};

/** For a list of @count @calls and the answer @response, all borrowed until calls_writer_finish().
 */
void calls_writer_init(struct calls_writer *writer, const struct calls_writing *writing,
                       struct calls_call *calls, size_t count, struct response *response);

/** Free what was not handed over. */
void calls_writer_finish(struct calls_writer *writer);

/** Whether results leave as they come, so that one which is printed is not held any more. */
static inline bool calls_writer_streams(const struct calls_writer *writer)
{
	return writer->format != CALLS_JSON;
}

/**
 * Begin the answer; tell of a result once its call is settled; end with what has become of all.
 * Printing frees what a call has kept of its reply; a reply for which there is no room becomes
 * HTTP_TOO_LARGE. Task only; streams park while the client does not read.
 *
 * Return 0; -ENOBUFS there is too little memory left; -ENOMEM; -ENOTSUP this answer cannot be
 * streamed; what response_stream_write() does. After an error of result() nothing is printed any
 * more; without end() it is as if nothing had been answered, or a stream is cut.
 */
int calls_writer_begin(struct calls_writer *writer);
int calls_writer_result(struct calls_writer *writer, struct calls_call *call);
int calls_writer_end(struct calls_writer *writer, const struct calls_coverage *coverage);

/* For calls_writer.c. */
extern const struct calls_writer_ops calls_whole_ops, calls_stream_ops;

/** Print the result of @call into the buffer and free its reply. Returns buffer.error. */
int calls_writer_print(struct calls_writer *writer, struct calls_call *call);

/** What is in the buffer is about to be handed over: give its memory back. */
void calls_writer_give_memory(struct calls_writer *writer);

#endif
