#ifndef HANDLERS_FANOUT_CALLS_H
#define HANDLERS_FANOUT_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/http_client.h"
#include "executors/scope.h"

/* The calls of one /fanout: the same URL `count` times, each in a child task of its own. */

/** What became of a call: an enum http_failure, or this: its task was never admitted or started
 * because the executor was full. */
enum { FANOUT_REJECTED = HTTP_FAILURES, FANOUT_OUTCOMES };

/** The name users see; "rejected" for FANOUT_REJECTED. Static. */
const char *fanout_outcome_name(unsigned outcome);

struct fanout_call {
	struct task task;
	struct fanout_calls *calls;

	/* The outcome, written by its task, or by the parent if that never ran. */
	bool made;          /* http_call() has been called */
	unsigned outcome;   /* HTTP_OK: a whole reply arrived */
	int status;         /* of a whole reply, 0 … FANOUT_STATUS_LIMIT - 1; else 0 */
	size_t reply_len;   /* bytes of body in a whole reply */
	int64_t elapsed_ns; /* from the start of the call to its outcome; 0 if it was not made */
};

enum { FANOUT_STATUS_LIMIT = 1000 };

struct fanout_calls {
	/* The caller's, constant while calls are made. Borrowed. */
	struct http_client *client;
	const char *url;
	int64_t timeout_ms; /* of one call, from its start */
	size_t max_reply_bytes;
	uint64_t cpu_us; /* to burn after each call */

	/* Relaxed, both: a gauge and its highest value. The parent reads the latter after
	 * scope_join(), whose lock makes all of them visible. */
	atomic_uint in_flight;
	atomic_uint peak_in_flight;

	size_t count;
	struct fanout_call each[];
};

/** What fanout_calls_create() allocates. */
uint64_t fanout_calls_bytes(size_t count);

/** @count calls, zeroed; to be freed with free(). NULL: no memory. */
struct fanout_calls *fanout_calls_create(size_t count);

/** Make all calls and return when each has its outcome. Task only; parks. */
void fanout_calls_make(struct fanout_calls *calls, const struct scope_options *options);

#endif
