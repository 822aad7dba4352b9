#ifndef SERVER_STREAM_H
#define SERVER_STREAM_H

#include <h2o.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "executors/cancel.h"
#include "executors/task.h"
#include "handlers/handler.h"
#include "handlers/text_buffer.h"
#include "server/slow_readers.h"

/*
 * A body on its way from the task that writes it to the client that reads it,
 * with room for 64 KiB between the two.
 *
 * The task and its front share what stands under @lock, and nothing else. What
 * the task writes is kept in @written; the front takes all of it at once, gives
 * it to h2o as @sending, and comes back for more when h2o has written that. Of
 * the front's side:
 *
 *   state     what holds                               on stream_news()  when h2o has written
 *   quiet     nothing to send; the task announces      → sending         -
 *             what it writes next
 *   sending   h2o has @sending, the task announces     -                 → sending, if more has
 *             nothing                                                    been written, else quiet
 *   ending    the same, but the task writes no more    -                 → last
 *   last      h2o has the end of the body              -                 h2o ends the request
 *   gone      the request is; every write fails        -                 -
 *
 * stream_end() leads from quiet to last and from sending to ending, the end of
 * the request from everywhere to gone. The stream is freed once the request is
 * gone and the task is done with it, stream_release().
 */
struct stream {
	pthread_mutex_t lock;
	struct text_buffer written; /* lock; not yet given to h2o */
	size_t waiting_bytes;       /* lock; written by the task, and not yet by h2o */
	bool is_announced;          /* lock; the front will look at @written by itself */
	bool is_closed;             /* lock; writes fail */
	struct task *writer;        /* lock; the task while it waits for room */

	/* The front's. */
	h2o_generator_t generator;
	h2o_req_t *request; /* NULL: not started, or gone */
	struct slow_readers *readers;
	struct cancel *cancel; /* until it is released */
	struct slow_reader reader;
	h2o_iovec_t sending;    /* base owned; NULL: nothing is with h2o but, perhaps, a head */
	bool is_sending;        /* h2o has not yet asked for more */
	bool is_released;       /* the task is done */
	h2o_send_state_t state; /* of what is sent next */
};

/** Any thread. The caller's until stream_release(). Returns 0 or -ENOMEM. */
int stream_create(struct stream **out);

/**
 * See response_stream_write(). Sets *@is_news if the front is to be told, for stream_news(). Task
 * only; parks. Returns 0, -ECANCELED, -ETIMEDOUT, -ENOMEM.
 */
int stream_write(struct stream *stream, const void *data, size_t len, struct deadline deadline,
                 bool *is_news);

/* Loop thread only, from here on. */

/**
 * Make @stream the answer to @request, with the head of @response, which is copied. @cancel is the
 * task's, and fired if the request goes while the task is not done.
 */
void stream_start(struct stream *stream, struct slow_readers *readers, struct cancel *cancel,
                  h2o_req_t *request, const struct response *response);

/** Something has been written. */
void stream_news(struct stream *stream);

/**
 * Let no more be written. If it has been started, and not ended before, what has been written is
 * sent, and then the end of the body; or if it is not @is_whole, the connection is cut so that the
 * client can tell. The request may be gone afterwards.
 */
void stream_end(struct stream *stream, bool is_whole);

/** The task is done, and the stream has been ended; whoever is last frees it. */
void stream_release(struct stream *stream);

#endif
