#include "clients/retry.h"

#include <assert.h>

#include "executors/splitmix64.h"

#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

/* The bias of the remainder is below 2^-23 for what is asked here, ten minutes in nanoseconds. */
uint64_t retry_random_upto(struct retry_random *random, uint64_t limit)
{
	uint64_t number = splitmix64_next(&random->state);

	return limit == UINT64_MAX ? number : number % (limit + 1);
}

static bool status_may_pass(int status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

bool retry_is_worth_it(const struct http_call *call)
{
	if (!http_call_is_repeatable(call))
		return false;
	switch (call->failure) {
	case HTTP_OK:
		return status_may_pass(call->status);
	case HTTP_CONNECT:
		return true;
	case HTTP_RESET:
		return !call->replied;
	default:
		return false;
	}
}

int64_t retry_pause_ns(const struct retry_settings *settings, unsigned made,
                       const struct http_call *call, struct retry_random *random)
{
	uint64_t most_ms = settings->base_ms;
	int64_t pause_ns;

	assert(made >= 1);
	for (unsigned doubled = 1; doubled < made && most_ms < settings->max_ms; doubled++)
		most_ms *= 2;
	if (most_ms > settings->max_ms)
		most_ms = settings->max_ms;
	pause_ns = (int64_t)retry_random_upto(random, most_ms * (uint64_t)MS_NS);
	if (call->has_retry_after)
		pause_ns += (int64_t)call->retry_after_s * SECOND_NS;
	return pause_ns;
}

bool retry_has_time(int64_t now_ns, int64_t pause_ns, int64_t took_ns, struct deadline until)
{
	int64_t left_ns = until.ns - now_ns;

	return pause_ns < left_ns && took_ns < left_ns - pause_ns;
}
