#ifndef HANDLERS_CALLS_RUN_H
#define HANDLERS_CALLS_RUN_H

#include <stddef.h>

#include "executors/deadline.h"
#include "handlers/calls_call.h"
#include "handlers/calls_graph.h"
#include "handlers/calls_request.h"
#include "handlers/calls_writer.h"

/* Making the calls of a list, each in a child task once nothing it waits for is left. */

struct calls_running {
	enum calls_policy policy;
	unsigned quorum;          /* CALLS_QUORUM: successes wanted */
	unsigned max_parallel;    /* calls at once; 0 is no limit */
	struct deadline deadline; /* when those that are not over are ended */
	size_t window_bytes;      /* see calls_window.h; 0: no limit */
};

/** What calls_run() needs beside the calls. */
size_t calls_run_bytes(size_t count);

/**
 * Make all @count @calls, tell @writer, which has begun, of each as it is settled, and return when
 * all are. Then no task touches them any more. @graph, which may be empty, is used up.
 *
 * Whatever happens to the calls is in them: the policy ends them as HTTP_CANCELED, the deadline as
 * HTTP_TIMEOUT. Once @writer fails all that are out are cancelled. Returns 0; what the writer
 * returned; -ENOMEM: nothing was made. Task only; parks.
 */
int calls_run(struct calls_call *calls, size_t count, struct calls_graph *graph,
              const struct calls_running *how, struct calls_writer *writer);

#endif
