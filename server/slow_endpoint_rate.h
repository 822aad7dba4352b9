#ifndef SERVER_SLOW_ENDPOINT_RATE_H
#define SERVER_SLOW_ENDPOINT_RATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The rate limits of GET /slow?rate=R: one token bucket for each R in use, with
 * room for one second's worth. Only the SLOW_RATES most recently used are kept;
 * one that comes back starts full. Loop thread only.
 */
enum { SLOW_RATES = 16 };

struct slow_rate {
	uint32_t per_second; /* 0 marks a free place */
	int64_t refilled_ns; /* when billionths was last brought up to date */
	uint64_t billionths; /* tokens, in billionths: elapsed ns * per_second adds up exactly */
};

/** Zeroed is empty. */
struct slow_rates {
	struct slow_rate rates[SLOW_RATES];
};

/** Take a token of the bucket for @per_second (1 … 1000000) at @now_ns; false when it is empty. */
bool slow_rates_take(struct slow_rates *rates, uint32_t per_second, int64_t now_ns);

#endif
