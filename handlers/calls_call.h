#ifndef HANDLERS_CALLS_CALL_H
#define HANDLERS_CALLS_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/http_client.h"
#include "executors/task.h"
#include "handlers/batch.h"
#include "handlers/calls_entry.h"
#include "handlers/calls_reply.h"
#include "handlers/text_buffer.h"

struct calls_judge;    /* handlers/calls_judge.h */
struct named_upstream; /* clients/upstream_set.h */

/** What became of a call: what becomes of a child of a batch, or this: a call it depends on has
 * failed, so that it was never made. */
enum { CALLS_DEPENDENCY_FAILED = BATCH_OUTCOMES, CALLS_OUTCOMES };

/** One call of a list: what is sent, and what came of it. */
struct calls_call {
	struct task task;

	/* The plan's; borrowed. */
	const struct calls_entry *entry;
	const struct named_upstream *upstream;
	struct http_header *headers; /* of the request; behind them there is room for
	                                CALLS_CONTEXT_HEADERS more */
	size_t header_count;
	size_t number;       /* its place in the list */
	size_t memory_bytes; /* what looking at its reply may take */

	struct calls_judge *judge; /* set when it is made; borrowed */

	/* The plan fills in the request but for its headers; what the call owns of the outcome is
	 * freed once that has been printed. */
	struct http_call made;

	/* Outcome; HTTP_OK is a whole reply of any status. */
	unsigned outcome;
	bool has_run;
	bool is_settled;             /* @outcome is final */
	enum calls_reply_kind reply; /* with HTTP_OK */
};

enum { CALLS_CONTEXT_HEADERS = 3 }; /* traceparent, tracestate, X-Request-Id */

/** Whether those that depend on it may be made: a whole reply with a 2xx status. */
static inline bool calls_call_is_success(const struct calls_call *call)
{
	return call->outcome == HTTP_OK && call->made.status / 100 == 2;
}

/** Make it: what its task runs. The request's context (request_context.h) goes with it. */
int calls_call_make(struct task *task);

/** As many bytes at most are printed of it if it fails, with what stands around it in an answer. So
 * there is room for that from the start, whatever the replies of others take. */
static inline size_t calls_call_failure_bytes(const struct calls_entry *entry)
{
	return 128 + 6 * entry->id_length; /* "\u001f" */
}

/** Append the result as a JSON object on one line. */
void calls_call_print(const struct calls_call *call, struct text_buffer *buffer);

/** The outcomes of a list, in numbers. */
struct calls_coverage {
	size_t requested, succeeded;
	size_t bad_status;               /* whole replies with a status that is not 2xx */
	size_t outcomes[CALLS_OUTCOMES]; /* [HTTP_OK] are those and the successes */
};

/** Count one that is settled. */
void calls_coverage_add(struct calls_coverage *coverage, const struct calls_call *call);

/** Not one call was made: each was turned away for lack of room. */
bool calls_coverage_is_overload(const struct calls_coverage *coverage);

/** Append it as a JSON object on one line. */
void calls_coverage_print(const struct calls_coverage *coverage, struct text_buffer *buffer);

#endif
