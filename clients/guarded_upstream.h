#ifndef CLIENTS_GUARDED_UPSTREAM_H
#define CLIENTS_GUARDED_UPSTREAM_H

#include <stdatomic.h>

#include "clients/shared_limits.h"
#include "clients/upstream_settings.h"
#include "clients/upstream_stats.h"

/*
 * One upstream with all that stands before it, for upstream_set.c. A call goes through
 *
 *	a meter       upstream_meter.c
 *	hedging       hedge_client.c     a second attempt beside a slow first
 *	retries       retry_client.c     after a failed one, within a budget
 *	a breaker     breaker_client.c   none while the upstream fails
 *	limits        upstream.c         a permit for each attempt; shared with what was before
 *	the wire      http1_client.c or curl_client.c, shared by all upstreams
 *
 * of which those that are not configured are not there.
 */
struct guarded_upstream {
	struct http_client *client;         /* the first; owns those below, but for the wire */
	struct upstream_settings *settings; /* owned; constant */
	char *origin;                       /* owned; "https://host:8443"; NULL: any. Constant */
	atomic_uint references; /* release on the way down, acquire by the last: it frees what the
	                           others have used */

	/* Of the chain, for their statistics; NULL: not there. */
	struct http_client *hedge, *retry, *breaker;

	struct shared_limits *limits;             /* a reference; NULL: none */
	struct http_client *for_http, *for_https; /* its ends; borrowed, constant */
};

/**
 * @settings are copied. @seed is for random pauses. @before is the same upstream with other
 * settings: if it has the same wire clients, its limits are shared, and changed by
 * guarded_upstream_take_over() alone; NULL: there is none. On success *@out has one reference.
 *
 * Returns 0; -EINVAL its URL has no host that can be called; -ENOMEM; what wire_clients_find()
 * does.
 */
int guarded_upstream_create(const struct upstream_settings *settings, struct wire_clients *wire,
                            uint64_t seed, const struct guarded_upstream *before,
                            struct guarded_upstream **out);

/** Have the limits that it shares be those of its own settings. Any thread. */
void guarded_upstream_take_over(struct guarded_upstream *upstream);

/** Whether it is what guarded_upstream_create() would make of @settings now. Any thread. */
bool guarded_upstream_is(const struct guarded_upstream *upstream,
                         const struct upstream_settings *settings, struct wire_clients *wire);

/** Any thread. */
void guarded_upstream_acquire(struct guarded_upstream *upstream);

/** No call of the caller's is in progress. Any thread. NULL is ignored. */
void guarded_upstream_release(struct guarded_upstream *upstream);

/** Any thread. */
void guarded_upstream_stats(struct guarded_upstream *upstream, struct upstream_stats *out);

#endif
