#ifndef HANDLERS_CALLS_GRAPH_H
#define HANDLERS_CALLS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/calls_request.h"

/*
 * What has to wait for what: dependsOn of all calls, with indices for the ids.
 * Without any dependsOn it is empty, and nothing waits.
 */
struct calls_graph {
	uint32_t *waits_for;  /* of each call: how many others it waits for; owned. NULL: empty */
	uint32_t *first;      /* of each call, and of one more: where its dependents begin */
	uint32_t *dependents; /* calls that wait for another, sorted by that */
};

/**
 * Of the calls of @request, whose ids are seen to be different. On success @out is the caller's,
 * for calls_graph_finish(). Returns 0; -EINVAL with @violation filled in: an id that two calls
 * have, or none has; a cycle; -ENOMEM. Any thread.
 */
int calls_graph_build(const struct calls_request *request, struct calls_graph *out,
                      struct calls_violation *violation);

/** Fine on a zeroed one. */
void calls_graph_finish(struct calls_graph *graph);

#endif
