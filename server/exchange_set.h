#ifndef SERVER_EXCHANGE_SET_H
#define SERVER_EXCHANGE_SET_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/disconnect_watch.h"
#include "server/executor_set.h"
#include "server/rejections.h"
#include "server/slow_readers.h"

/*
 * The exchanges (exchange.h) that one front has out, and what becomes of them as
 * time passes and the server ends. Loop thread only.
 */
struct exchange_options {
	int64_t deadline_ms; /* of a request, from its arrival */
	bool keep_half_closed;
	unsigned max_tasks;                   /* of an executor, to tell why it is full */
	const struct executor_set *executors; /* borrowed */
	struct rejections *rejections;        /* borrowed */
};

struct exchange_set {
	struct exchange_options options;
	struct slow_readers *readers; /* borrowed */
	uint64_t random;              /* see exchange_set_random() */
	h2o_multithread_receiver_t home;
	struct disconnect_watch watch;
	h2o_linklist_t exchanges;  /* out, oldest first */
	h2o_linklist_t unanswered; /* those of them whose request waits, oldest first */
	unsigned out;              /* how many are in @exchanges */
	bool closing;              /* answer with Connection: close */
	bool canceling;            /* what comes now is cancelled from the start */
};

/** Returns 0; -EMFILE, -ENFILE, -ENOMEM, -ENOSYS. */
int exchange_set_init(struct exchange_set *set, h2o_context_t *context,
                      struct slow_readers *readers, const struct exchange_options *options);

/** None is out any more. */
void exchange_set_finish(struct exchange_set *set);

/** Numbers that hardly any other request has, for request_context_init(). They are no secret. */
void exchange_set_random(struct exchange_set *set, uint64_t numbers[4]);

/** When exchange_set_run() is to be called next, on CLOCK_MONOTONIC; INT64_MAX: not at all. */
int64_t exchange_set_due_ns(const struct exchange_set *set);

/** Give up on what is overdue, and start to watch the clients of what takes long. */
void exchange_set_run(struct exchange_set *set, int64_t now_ns);

/** Cancel all that are out, because of a shutdown; they answer with what they have. */
void exchange_set_cancel(struct exchange_set *set);

/** Answer all that wait with 503, or cut their streams, whatever their tasks do. */
void exchange_set_abandon(struct exchange_set *set);

#endif
