#include "server/slow_endpoint_counters.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static void lock(struct slow_counters *counters)
{
	int error = pthread_mutex_lock(&counters->lock);

	assert(error == 0);
}

static void unlock(struct slow_counters *counters)
{
	int error = pthread_mutex_unlock(&counters->lock);

	assert(error == 0);
}

void slow_counters_init(struct slow_counters *counters)
{
	*counters = (struct slow_counters){.lock = PTHREAD_MUTEX_INITIALIZER, .era = 1};
}

void slow_counters_finish(struct slow_counters *counters)
{
	int error = pthread_mutex_destroy(&counters->lock);

	assert(error == 0);
}

static void count_request_locked(struct slow_counters *counters, unsigned *era)
{
	counters->stats.total++;
	if (*era == counters->era)
		return;
	*era = counters->era;
	counters->stats.connections++;
}

void slow_counters_begin(struct slow_counters *counters, unsigned *era)
{
	struct slow_endpoint_stats *stats = &counters->stats;

	lock(counters);
	count_request_locked(counters, era);
	if (++stats->in_flight > stats->peak_in_flight)
		stats->peak_in_flight = stats->in_flight;
	unlock(counters);
}

void slow_counters_refuse(struct slow_counters *counters, unsigned *era)
{
	lock(counters);
	count_request_locked(counters, era);
	counters->stats.refused++;
	unlock(counters);
}

void slow_counters_end(struct slow_counters *counters, enum slow_end how)
{
	lock(counters);
	assert(counters->stats.in_flight > 0);
	counters->stats.in_flight--;
	if (how == SLOW_CANCELED)
		counters->stats.canceled++;
	unlock(counters);
}

void slow_counters_backoff(struct slow_counters *counters)
{
	lock(counters);
	counters->stats.accept_backoffs++;
	unlock(counters);
}

void slow_counters_reset(struct slow_counters *counters)
{
	uint64_t in_flight;

	lock(counters);
	in_flight = counters->stats.in_flight;
	counters->stats = (struct slow_endpoint_stats){
		.in_flight = in_flight,
		.peak_in_flight = in_flight,
	};
	if (++counters->era == 0)
		counters->era = 1;
	unlock(counters);
}

void slow_counters_read(struct slow_counters *counters, struct slow_endpoint_stats *out)
{
	lock(counters);
	*out = counters->stats;
	unlock(counters);
}

size_t slow_stats_format(const struct slow_endpoint_stats *stats, char text[SLOW_STATS_TEXT_BYTES])
{
	int length =
		snprintf(text, SLOW_STATS_TEXT_BYTES,
	                 "{\"in_flight\":%" PRIu64 ",\"peak_in_flight\":%" PRIu64
	                 ",\"total\":%" PRIu64 ",\"connections\":%" PRIu64 ",\"refused\":%" PRIu64
	                 ",\"canceled\":%" PRIu64 ",\"accept_backoffs\":%" PRIu64 "}",
	                 stats->in_flight, stats->peak_in_flight, stats->total, stats->connections,
	                 stats->refused, stats->canceled, stats->accept_backoffs);

	assert(length > 0 && length < SLOW_STATS_TEXT_BYTES);
	return (size_t)length;
}
