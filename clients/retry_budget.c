#include "clients/retry_budget.h"

#define SECOND_NS INT64_C(1000000000)

void retry_budget_count_call(struct retry_budget *budget, int64_t now_ns)
{
	recent_counts_add(&budget->window, now_ns / SECOND_NS, 1, 0);
}

bool retry_budget_take(struct retry_budget *budget, int64_t now_ns)
{
	uint64_t least = UINT64_C(1) * RETRY_BUDGET_LEAST_PER_SECOND * RETRY_BUDGET_SECONDS;
	uint64_t most;

	recent_counts_move_to(&budget->window, now_ns / SECOND_NS);
	most = budget->window.all_calls * RETRY_BUDGET_PERCENT / 100;
	if (budget->window.all_others >= (most > least ? most : least))
		return false;
	recent_counts_add(&budget->window, now_ns / SECOND_NS, 0, 1);
	return true;
}
