#ifndef HANDLERS_CALLS_JUDGE_H
#define HANDLERS_CALLS_JUDGE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "executors/scope.h"
#include "handlers/calls_request.h"

/*
 * What the policy of a list makes of its calls. Each is judged once, by whoever knows first
 * what became of it: by its own task, so that the others are cancelled at once, even while
 * the parent has its hands full.
 */
struct calls_judge {
	struct scope *scope;  /* borrowed; of the calls */
	atomic_size_t wanted; /* successes that are missing for the policy to be satisfied; 0: it
	                         is, or wants none. Relaxed: the scope's lock orders the rest */
	bool fails_fast;      /* constant */
};

/** @quorum counts for CALLS_QUORUM alone. */
void calls_judge_init(struct calls_judge *judge, struct scope *scope, enum calls_policy policy,
                      unsigned quorum);

/** A call has succeeded, or has failed: cancel the others if that decides it. Any thread, while the
 * scope is open. */
void calls_judge_tell(struct calls_judge *judge, bool is_success);

#endif
