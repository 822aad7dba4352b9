#ifndef HANDLERS_BATCH_H
#define HANDLERS_BATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/http_client.h"
#include "executors/scope.h"

/*
 * What one request is split into: the same piece of work `count` times at once,
 * each in a child task of its own, and what became of each.
 */

/** What became of a child: an enum http_failure, also for work that makes no call, or this: it
 * was never admitted or started because the executor was full. */
enum { BATCH_REJECTED = HTTP_FAILURES, BATCH_OUTCOMES };

/** The name users see; "rejected" for BATCH_REJECTED. Static. */
const char *batch_outcome_name(unsigned outcome);

struct batch_child {
	struct task task;
	struct batch *batch;

	/* What became of it: written by the work, or by the parent if that never ran. */
	bool ran;           /* the work has been called */
	unsigned outcome;   /* HTTP_OK: it was done, or a whole reply arrived */
	int status;         /* of a whole reply, 0 … BATCH_STATUS_LIMIT - 1; else 0 */
	size_t reply_len;   /* bytes of body in a whole reply */
	int64_t elapsed_ns; /* that the work or the call took; 0 if it was not done */
};

enum { BATCH_STATUS_LIMIT = 1000 };

/** What each child does. Borrowed, constant while children run. */
struct batch_work {
	/* Do it and record in @child what became of it. On a task; many at once. */
	void (*run)(struct batch_child *child, const struct batch_work *work);
	const char *task_name; /* static: for logs and debug pages */
	const char *client;    /* who makes the calls, a plain word; NULL: none are made */
	size_t call_bytes;     /* that one of them takes; see http_call_memory_bytes() */
};

struct batch {
	const struct batch_work *work;

	/* Relaxed, both: a gauge and its highest value. The parent reads the latter after
	 * scope_join(), whose lock makes all of them visible. */
	atomic_uint in_flight;
	atomic_uint peak_in_flight;

	size_t count;
	struct batch_child each[];
};

/** What batch_create() allocates. */
uint64_t batch_bytes(size_t count);

/** @count children, zeroed; to be freed with free(). NULL: no memory. */
struct batch *batch_create(size_t count);

/** Run all children and return when each has its outcome. Task only; parks. */
void batch_run(struct batch *batch, const struct batch_work *work,
               const struct scope_options *options);

/** The place of @child in its batch, from 0. */
size_t batch_index(const struct batch_child *child);

/**
 * Count the calling child as in flight until batch_leave(): what peak_in_flight tells of. For
 * the work to put around what it waits or calls for.
 */
void batch_enter(struct batch *batch);
void batch_leave(struct batch *batch);

/** The outcome of work that its task's cancellation or deadline has ended. Task only. */
unsigned batch_outcome_of_end(void);

#endif
