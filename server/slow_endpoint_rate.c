#include "server/slow_endpoint_rate.h"

#define TOKEN UINT64_C(1000000000)

/* The bucket for @per_second, taking the place of the least recently used if there is none. */
static struct slow_rate *find(struct slow_rates *rates, uint32_t per_second, int64_t now_ns)
{
	struct slow_rate *oldest = &rates->rates[0];

	for (unsigned i = 0; i < SLOW_RATES; i++) {
		struct slow_rate *rate = &rates->rates[i];

		if (rate->per_second == per_second)
			return rate;
		if (rate->refilled_ns < oldest->refilled_ns)
			oldest = rate;
	}
	*oldest = (struct slow_rate){
		.per_second = per_second,
		.refilled_ns = now_ns,
		.billionths = per_second * TOKEN,
	};
	return oldest;
}

static void refill(struct slow_rate *rate, int64_t now_ns)
{
	uint64_t full = rate->per_second * TOKEN;
	uint64_t elapsed_ns = (uint64_t)(now_ns - rate->refilled_ns);

	rate->refilled_ns = now_ns;
	if (elapsed_ns >= TOKEN)
		rate->billionths = full;
	else
		rate->billionths += elapsed_ns * rate->per_second;
	if (rate->billionths > full)
		rate->billionths = full;
}

bool slow_rates_take(struct slow_rates *rates, uint32_t per_second, int64_t now_ns)
{
	struct slow_rate *rate = find(rates, per_second, now_ns);

	refill(rate, now_ns);
	if (rate->billionths < TOKEN)
		return false;
	rate->billionths -= TOKEN;
	return true;
}
