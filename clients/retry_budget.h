#ifndef CLIENTS_RETRY_BUDGET_H
#define CLIENTS_RETRY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/recent_counts.h"

/*
 * How many retries an upstream is sent: when it fails everything, each call would
 * otherwise become several, just when it can take the least. Of the calls of the
 * last ten seconds a fifth may be retried, and of few calls 3 a second.
 *
 * A state machine without clock or lock: the caller brings the time, which never
 * goes back by more than a second, and guards it.
 */
enum {
	RETRY_BUDGET_PERCENT = 20,
	RETRY_BUDGET_SECONDS = RECENT_SLOTS,
	RETRY_BUDGET_LEAST_PER_SECOND = 3,
};

struct retry_budget {
	struct recent_counts window; /* calls and retries, by the second */
};

/** Zero it first. A call begins. */
void retry_budget_count_call(struct retry_budget *budget, int64_t now_ns);

/** Take one retry out of the budget. False: it is used up. */
bool retry_budget_take(struct retry_budget *budget, int64_t now_ns);

#endif
