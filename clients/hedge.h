#ifndef CLIENTS_HEDGE_H
#define CLIENTS_HEDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/latency_window.h"

/*
 * When a call that takes long is made a second time beside the first ("The Tail at
 * Scale", Dean and Barroso, CACM 2013): decisions alone. hedge_client.h makes the
 * calls.
 *
 * The moment is a percentile of what first attempts have taken of late. It is taken from
 * three standard errors below its rank: where just so many are slow, what is measured falls on
 * the slow side half of the time, and none would be hedged then. The budget sees to it
 * that the second attempts stay few; as it runs short, it is kept for the slowest calls.
 *
 * Without clock or lock: the caller brings the time, and guards it.
 */
struct hedge_settings {
	unsigned percentile;     /* 50 … 99; 0: no hedging */
	unsigned budget_percent; /* of the calls, 1 … 100 */
};

#define HEDGE_DEFAULTS ((struct hedge_settings){.percentile = 95, .budget_percent = 5})

enum {
	HEDGE_LEAST_CALLS = 20,  /* whose latencies are known before any is hedged */
	HEDGE_BUDGET_FIRST = 10, /* hedges in the budget at first */
	HEDGE_BUDGET_MOST = 50,  /* at most */
	HEDGE_BUDGET_SHORT =
		8, /* with fewer it takes twice the delay, with half of that four times */
};

struct hedge {
	struct hedge_settings settings; /* constant */
	unsigned hundredths;            /* of a hedge: the budget */
	struct latency_window latencies;
	int64_t delay_ns;     /* INT64_MAX: not known yet */
	unsigned until_asked; /* latencies to come before delay_ns is worked out again */
};

void hedge_init(struct hedge *hedge, const struct hedge_settings *settings);

/** A call begins. Returns how long it may take before hedge_take() is asked for it; INT64_MAX:
 * whatever it takes, because that is not known yet. */
int64_t hedge_begin(struct hedge *hedge);

/**
 * A call has taken @took_ns, and more than hedge_begin() said. Returns 0: a second attempt is taken
 * out of the budget, for it to be made; else how long the call may take before this is asked again.
 */
int64_t hedge_take(struct hedge *hedge, int64_t took_ns);

/** A first attempt has brought an answer after @took_ns, or would have taken longer than that. */
void hedge_learn(struct hedge *hedge, int64_t now_ns, int64_t took_ns);

#endif
