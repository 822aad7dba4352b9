#ifndef SERVER_SLOW_ENDPOINT_COUNTERS_H
#define SERVER_SLOW_ENDPOINT_COUNTERS_H

#include <pthread.h>
#include <stddef.h>

#include "server/slow_endpoint.h"

/*
 * What the endpoint has seen. Written by its loop, read by any thread, hence
 * the lock, which is next to never contended.
 */
struct slow_counters {
	pthread_mutex_t lock;
	struct slow_endpoint_stats stats; /* lock */
	unsigned era;                     /* lock; grows with each reset, never 0 */
};

/** How a request left the endpoint. */
enum slow_end { SLOW_ANSWERED, SLOW_CANCELED };

enum { SLOW_STATS_TEXT_BYTES = 320 };

void slow_counters_init(struct slow_counters *counters);
void slow_counters_finish(struct slow_counters *counters);

/**
 * A request came and waits (begin), or is turned away (refuse). @era belongs to its
 * connection, 0 at first: it tells whether the connection has been counted since the last reset.
 */
void slow_counters_begin(struct slow_counters *counters, unsigned *era);
void slow_counters_refuse(struct slow_counters *counters, unsigned *era);

/** A request that had begun is over; before its answer is written. */
void slow_counters_end(struct slow_counters *counters, enum slow_end how);

void slow_counters_backoff(struct slow_counters *counters);

/** Start counting anew; requests in flight stay, and are the new peak. */
void slow_counters_reset(struct slow_counters *counters);

void slow_counters_read(struct slow_counters *counters, struct slow_endpoint_stats *out);

/** The body of GET /stats. Returns its length. */
size_t slow_stats_format(const struct slow_endpoint_stats *stats, char text[SLOW_STATS_TEXT_BYTES]);

#endif
