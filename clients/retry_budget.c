#include "clients/retry_budget.h"

#define SECOND_NS INT64_C(1000000000)

static void forget_second(struct retry_budget *budget, unsigned slot)
{
	budget->all_calls -= budget->calls[slot];
	budget->all_retries -= budget->retries[slot];
	budget->calls[slot] = 0;
	budget->retries[slot] = 0;
}

/* The slot of now. Threads come with their times in any order: an earlier second counts as the
 * last one. */
static unsigned move_to(struct retry_budget *budget, int64_t now_ns)
{
	int64_t second = now_ns / SECOND_NS;
	int64_t oldest = second - RETRY_BUDGET_SECONDS;

	if (second < budget->second)
		second = budget->second;
	if (budget->second < oldest)
		budget->second = oldest;
	while (budget->second < second) {
		budget->second++;
		forget_second(budget, (unsigned)(budget->second % RETRY_BUDGET_SECONDS));
	}
	return (unsigned)(second % RETRY_BUDGET_SECONDS);
}

void retry_budget_count_call(struct retry_budget *budget, int64_t now_ns)
{
	budget->calls[move_to(budget, now_ns)]++;
	budget->all_calls++;
}

bool retry_budget_take(struct retry_budget *budget, int64_t now_ns)
{
	unsigned slot = move_to(budget, now_ns);
	uint64_t most = budget->all_calls * RETRY_BUDGET_PERCENT / 100;
	uint64_t least = UINT64_C(1) * RETRY_BUDGET_LEAST_PER_SECOND * RETRY_BUDGET_SECONDS;

	if (budget->all_retries >= (most > least ? most : least))
		return false;
	budget->retries[slot]++;
	budget->all_retries++;
	return true;
}
