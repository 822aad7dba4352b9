#ifndef HANDLERS_CALLS_PLAN_H
#define HANDLERS_CALLS_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "clients/upstream_set.h"
#include "handlers/calls_call.h"
#include "handlers/calls_request.h"
#include "handlers/calls_violation.h"

/*
 * From what a list asks for to the HTTP calls that are made: where each goes, and
 * what is sent there.
 */
struct calls_plan {
	struct calls_call *calls; /* owned, as are those below */
	size_t count;
	struct http_header *headers; /* of all calls */
	char *texts;                 /* URLs, and bodies that came as base64 */
	size_t bytes; /* what all of it takes, JSON bodies and what would be printed of
	                 failures included */
};

/** What holds for every call of a list. Borrowed. */
struct calls_planning {
	const struct upstream_set *set; /* lasts as long as the plan */
	int64_t call_timeout_ms;        /* of a call whose upstream has none, either */
	size_t max_reply_bytes;
	size_t memory_bytes;          /* for the plan */
	struct reply_memory *replies; /* what the calls take their replies from; not looked at */
};

/**
 * Plan the calls of @request, which is borrowed, as is its tree.
 *
 * On success @out is the caller's, for calls_plan_finish(). Returns 0; -EINVAL with @violation
 * filled in: an upstream that is not there, a URL that may not be called, a body that is no base64;
 * -ENOBUFS it takes more than memory_bytes; -ENOMEM. Any thread.
 */
int calls_plan_make(const struct calls_request *request, const struct calls_planning *planning,
                    struct calls_plan *out, struct calls_violation *violation);

/** No call is being made. Fine on a zeroed one. */
void calls_plan_finish(struct calls_plan *plan);

#endif
