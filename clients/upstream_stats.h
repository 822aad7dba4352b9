#ifndef CLIENTS_UPSTREAM_STATS_H
#define CLIENTS_UPSTREAM_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/breaker.h"
#include "clients/http_client.h"

/* What is counted of an upstream, for /metrics and debug pages. */
enum {
	UPSTREAM_BAD_STATUS = HTTP_FAILURES, /* a whole reply with a status other than 2xx */
	UPSTREAM_RESULTS,
	UPSTREAM_DURATION_BOUNDS = 14,
};

/** The place of a call with that outcome among the results. */
static inline unsigned upstream_result(enum http_failure failure, int status)
{
	return failure == HTTP_OK && status / 100 != 2 ? UPSTREAM_BAD_STATUS : (unsigned)failure;
}

/** "ok" for a whole reply with a 2xx, "bad_status", or what http_failure_name() says. Static. */
const char *upstream_result_name(unsigned result);

/** The upper ends of the classes of durations, in nanoseconds: those of OpenTelemetry's HTTP
 * metrics (https://opentelemetry.io/docs/specs/semconv/http/http-metrics/). */
extern const int64_t upstream_duration_bounds_ns[UPSTREAM_DURATION_BOUNDS];

/** A snapshot; each part is consistent in itself. Counters never go back while the upstream's
 * settings stay as they are. */
struct upstream_stats {
	/* Calls, however many attempts they took. */
	uint64_t results[UPSTREAM_RESULTS]; /* that are over */
	unsigned in_flight;                 /* that are not: waiting for a permit included */
	uint64_t durations[UPSTREAM_DURATION_BOUNDS + 1]; /* of all that are over, by class; the
	                                                     last is for what is longer */
	int64_t durations_ns;                             /* their sum */
	int64_t p50_ns, p95_ns, p99_ns; /* of the whole replies of late; 0: there are none */

	uint64_t attempts;
	uint64_t retries, retries_refused; /* for want of budget */

	uint64_t hedges, hedges_won, hedges_refused;
	int64_t hedge_delay_ns; /* INT64_MAX: not known yet, or no hedging */

	bool has_breaker;
	enum breaker_state breaker;
	uint64_t breaker_opened; /* how often it has */

	unsigned permits; /* there are; 0: any number */
	unsigned permits_in_use;
	unsigned waiting; /* for a permit */
};

#endif
