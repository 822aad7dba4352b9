#ifndef CLIENTS_UPSTREAM_H
#define CLIENTS_UPSTREAM_H

#include "clients/http_client.h"

/*
 * Limits for each upstream, that is, for each host and port: how many calls may be
 * in flight there, and how many may start in a second. A client that passes calls
 * on to another one as these allow.
 *
 * Calls beyond the permits wait for one in the order in which they come, for a while; then they
 * fail with HTTP_NO_PERMIT, without having reached the upstream. Calls beyond the rate are spaced
 * out evenly, before they wait for a permit. A call's own timeout begins after both.
 */
struct upstream_limits {
	unsigned permits;        /* calls in flight to one upstream; 0: any number */
	unsigned permit_wait_ms; /* how long a call waits for a permit */
	unsigned per_second;     /* calls started; 0: any number */
};

/** Upstreams that are told apart; calls to further ones share the limits of those. */
enum { UPSTREAMS_MAX = 1024 };

/**
 * On success @inner is owned by *@out, which is the caller's for http_client_destroy().
 * Returns 0 or -ENOMEM.
 */
int upstream_client_create(struct http_client *inner, const struct upstream_limits *limits,
                           struct http_client **out);

/** Have calls that begin from now on, and those that wait, go by @limits. Calls that have a permit
 * keep it; with fewer permits there is none for others until enough have come back. Of a client
 * made above. Any thread. */
void upstream_client_set_limits(struct http_client *client, const struct upstream_limits *limits);

/** A snapshot, of all its upstreams together. */
struct upstream_usage {
	unsigned permits_in_use;
	unsigned waiting; /* calls, for a permit */
};

/** Of a client made above. Any thread. */
void upstream_client_usage(struct http_client *client, struct upstream_usage *out);

#endif
