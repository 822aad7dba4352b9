#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/cancel.h"
#include "executors/task.h"
#include "executors/task_context.h"
#include "handlers/handler.h"
#include "handlers/request_context.h"
#include "server/disconnect_watch.h"
#include "server/exchange_set.h"
#include "server/request_durations.h"
#include "server/stream.h"

/*
 * An exchange is one request on its way front → task → front.
 *
 * It has one owner at a time: exchange_start() copies the request out of h2o's
 * memory and submits; the task runs the handler; done() posts the exchange home,
 * where it is answered and freed. h2o_req_t is touched on the loop's thread
 * alone, and only while the request is there: a token in its pool, whose dispose
 * callback h2o calls, says so. (h2o uses the struct again for the next request
 * of a connection, so its address proves nothing.)
 *
 * Whichever comes first: the answer comes home; the client goes (the exchange is
 * cancelled, and dropped when it comes home); or 500 ms pass after the deadline,
 * and the client gets a 504 while the exchange, cancelled too, is waited for.
 *
 * A handler may stream its answer. Then a stream (stream.h) is between task and
 * front, which guards what they share itself, and the task tells the front of it
 * by a message, which comes before the one that says that it is done.
 *
 *   the task …         the request waits             it has been answered, or is gone
 *   has it             news: start the stream        news: let no more be written
 *   streams            news: send. Gone, or given    -
 *                      up: let no more be written
 *   is done            answer, or end the stream     drop what it made
 */

/* In the request's pool: there for as long as the request is. */
struct exchange_token {
	struct exchange *exchange; /* NULL once answered */
	h2o_req_t *request;
};

/* From the task to its front, in one queue, so that they arrive in the order of their sending. */
struct exchange_message {
	h2o_multithread_message_t super;
	struct exchange *exchange;
};

struct exchange {
	struct exchange_message news; /* the stream has something to send; see stream_write() */
	struct exchange_message home; /* the last one: the exchange is the front's again */
	struct task task;
	struct cancel cancel;
	struct request request;
	struct request_context context;
	struct task_binding context_binding;
	struct response response;
	struct stream *stream; /* NULL: none has begun. The task's until the front has news */
	struct handler *handler;
	bool has_own_executor; /* which the executors of the statistics are not */

	/* The front's. */
	struct exchange_set *set;
	h2o_linklist_t link;          /* in set->exchanges */
	h2o_linklist_t waiting;       /* in set->unanswered while there is a token */
	struct exchange_token *token; /* NULL: the request is gone, or has been answered */
	bool is_streaming;            /* the stream is what answers the request */
	struct watched_connection connection;
	struct request_durations *durations;
	int64_t arrived_ns;

	char texts[]; /* what @request points to */
};

/** Loop thread only, all of them. */

/**
 * Have @request handled by @handler on a task of @executor, or if that is NULL of the one that the
 * request asks for, and answer it; 503 at once if the executor is full. @durations counts the
 * answer.
 */
void exchange_start(struct exchange_set *set, h2o_req_t *request, struct handler *handler,
                    struct executor *executor, struct request_durations *durations);

/* For exchange_set.c. */

/** What tasks have sent to their front: news of streams, and exchanges that come home. */
void exchange_receive(h2o_multithread_receiver_t *receiver, h2o_linklist_t *messages);

/** The client of @connection, which is an exchange's, has gone. */
void exchange_client_gone(struct watched_connection *connection);

/** The deadline is long over: the client gets a 504, or less than the whole of a stream, and the
 * task, cancelled, is waited for. */
void exchange_give_up(struct exchange *exchange);

/** The server ends: likewise, with a 503. */
void exchange_abandon(struct exchange *exchange);

#endif
