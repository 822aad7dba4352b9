#include "handlers/calls_judge.h"

void calls_judge_init(struct calls_judge *judge, struct scope *scope, enum calls_policy policy,
                      unsigned quorum)
{
	judge->scope = scope;
	atomic_init(&judge->wanted, policy == CALLS_FIRST    ? 1
	                            : policy == CALLS_QUORUM ? quorum
	                                                     : 0);
	judge->fails_fast = policy == CALLS_FAIL_FAST;
}

/* Whether the policy is satisfied by this success, and was not before. */
static bool is_last_wanted(struct calls_judge *judge)
{
	size_t wanted = atomic_load_explicit(&judge->wanted, memory_order_relaxed);

	/* A failed exchange loads what another has left. */
	while (wanted > 0 &&
	       !atomic_compare_exchange_weak_explicit(&judge->wanted, &wanted, wanted - 1,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
	return wanted == 1;
}

void calls_judge_tell(struct calls_judge *judge, bool is_success)
{
	if (is_success ? is_last_wanted(judge) : judge->fails_fast)
		scope_cancel(judge->scope, CANCEL_SIBLING_DONE);
}
