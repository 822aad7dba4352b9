#ifndef HANDLERS_CALLS_H
#define HANDLERS_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "handlers/batch_request.h"
#include "handlers/handler.h"
#include "handlers/live_limits.h"

struct upstream_holder; /* clients/upstream_set.h */

/*
 * POST /fanout: a list of different calls, made at once under one deadline, and one
 * answer with what became of each. fanout.schema.json says what the list looks like.
 *
 *	calls_request.h  reads and checks it
 *	calls_graph.h    what has to wait for what
 *	calls_plan.h     the HTTP call that each becomes
 *	calls_run.h      makes them, each in a child task
 *	calls_writer.h   the answer, whole or as it comes
 */
struct calls_options {
	struct batch_limits limits;        /* max_n is the most calls of one list */
	const struct live_limits *live;    /* borrowed: what limits and the two below are when a
	                                      request begins. NULL: what they are here */
	struct upstream_holder *upstreams; /* borrowed; a request uses the set that is current when
	                                      it starts, to its end */
	int64_t call_timeout_ms;           /* default and upper bound of a call's timeout_ms */
	size_t max_reply_bytes;            /* per call */
};

/** On success *@out is the caller's, to be given to handler_destroy(). Before other threads use
 * jansson: see json_arena.h. Returns 0 or -ENOMEM. */
int calls_handler_create(const struct calls_options *options, struct handler **out);

#endif
