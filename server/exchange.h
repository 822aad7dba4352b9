#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "handlers/handler.h"
#include "server/disconnect_watch.h"
#include "server/executor_set.h"
#include "server/rejections.h"
#include "server/request_durations.h"
#include "server/slow_readers.h"

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
 */
struct exchange;

struct exchange_options {
	int64_t deadline_ms; /* of a request, from its arrival */
	bool keep_half_closed;
	unsigned max_tasks;                   /* of an executor, to tell why it is full */
	const struct executor_set *executors; /* borrowed */
	struct rejections *rejections;        /* borrowed */
};

/** The exchanges that one front has out. Its functions are for the loop's thread. */
struct exchange_set {
	struct exchange_options options;
	struct slow_readers *readers; /* borrowed */
	uint64_t random;              /* where the ids of requests come from */
	h2o_multithread_receiver_t home;
	struct disconnect_watch watch;
	h2o_linklist_t exchanges;  /* out, oldest first */
	h2o_linklist_t unanswered; /* those of them whose request waits, oldest first */
	unsigned out;              /* how many are in @exchanges */
	bool closing;              /* answer with Connection: close */
	bool canceling;            /* what comes now is cancelled from the start */
};

/** Returns 0; -EMFILE, -ENFILE, -ENOMEM. */
int exchange_set_init(struct exchange_set *set, h2o_context_t *context,
                      struct slow_readers *readers, const struct exchange_options *options);

/** None is out any more. */
void exchange_set_finish(struct exchange_set *set);

/**
 * Have @request handled by @handler on a task of @executor, or if that is NULL of the one that the
 * request asks for, and answer it; 503 at once if the executor is full. @durations counts the
 * answer.
 */
void exchange_start(struct exchange_set *set, h2o_req_t *request, struct handler *handler,
                    struct executor *executor, struct request_durations *durations);

/** When exchange_set_run() is to be called next, on CLOCK_MONOTONIC; INT64_MAX: not at all. */
int64_t exchange_set_due_ns(const struct exchange_set *set);

/** Answer what is overdue with 504, and start to watch the clients of what takes long. */
void exchange_set_run(struct exchange_set *set, int64_t now_ns);

/** Cancel all that are out, because of a shutdown; they answer with what they have. */
void exchange_set_cancel(struct exchange_set *set);

/** Answer all that wait with 503, whatever their tasks do. */
void exchange_set_abandon(struct exchange_set *set);

#endif
