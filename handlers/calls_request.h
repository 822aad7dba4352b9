#ifndef HANDLERS_CALLS_REQUEST_H
#define HANDLERS_CALLS_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/calls_entry.h"
#include "handlers/calls_violation.h"
#include "handlers/json_arena.h"

/* The body of a POST /fanout, read and checked against what fanout.schema.json says. */

enum calls_policy {
	CALLS_ALL,       /* every call runs to its own end */
	CALLS_FIRST,     /* the first that succeeds cancels the others */
	CALLS_FAIL_FAST, /* the first that fails cancels the others */
	CALLS_QUORUM,    /* as CALLS_FIRST, at the quorum-th success */
};

struct calls_request {
	struct json_arena json; /* what the entries borrow from */
	enum calls_policy policy;
	unsigned quorum;             /* CALLS_QUORUM: 1 … count; else 0 */
	unsigned max_parallel;       /* calls at once; 0 is no limit */
	int64_t deadline_ms;         /* 0: not given */
	bool by_completion;          /* the order of the answer; else that of the list */
	bool has_order;              /* it was given */
	size_t count;                /* 1 … max_n */
	struct calls_entry *entries; /* owned */
	size_t bytes;                /* what all of it takes, at most */
};

/** What a list may ask for. */
struct calls_bounds {
	unsigned max_n;
	int64_t deadline_ms;     /* largest of the request */
	int64_t call_timeout_ms; /* largest timeout_ms of a call */
	size_t memory_bytes;     /* for the tree and the entries together */
};

enum { CALLS_MAX_DEPTH = 64 };

/**
 * Read @length bytes at @text, with a NUL behind them.
 *
 * On success @out is the caller's, for calls_request_finish(). Returns 0; -EINVAL with @violation
 * filled in; -ENOBUFS it takes more than memory_bytes; -ENOMEM. Any thread.
 */
int calls_request_read(const char *text, size_t length, const struct calls_bounds *bounds,
                       struct calls_request *out, struct calls_violation *violation);

/** Fine on a zeroed one. */
void calls_request_finish(struct calls_request *request);

#endif
