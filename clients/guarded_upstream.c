#include "clients/guarded_upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients/breaker_client.h"
#include "clients/hedge_client.h"
#include "clients/retry_client.h"
#include "clients/shared_client.h"
#include "clients/upstream_meter.h"
#include "clients/url_host.h"

/* ------ the chain, from its end: each link owns the one behind it */

/* What speaks https is left out where nothing does: the other then says so of a call. */
static int find_both(const struct upstream_settings *settings, struct wire_clients *wire,
                     struct http_client **for_http, struct http_client **for_https)
{
	int error = wire_clients_find(wire, &settings->wire, false, for_http);

	if (error < 0)
		return error;
	error = wire_clients_find(wire, &settings->wire, true, for_https);
	if (error == -EPROTONOSUPPORT)
		*for_https = *for_http;
	return error == -EPROTONOSUPPORT ? 0 : error;
}

static int find_wires(const struct upstream_settings *settings, struct wire_clients *wire,
                      struct http_client **for_http, struct http_client **for_https)
{
	struct url_host host;
	int error = 0;

	if (settings->url && url_host_find(settings->url, &host) < 0)
		return -EINVAL;
	*for_http = settings->client;
	if (!settings->client && !settings->url)
		return find_both(settings, wire, for_http, for_https);
	if (!settings->client)
		error = wire_clients_find(wire, &settings->wire, host.is_tls, for_http);
	*for_https = *for_http;
	return error;
}

static bool has_limits(const struct upstream_limits *limits)
{
	return limits->permits > 0 || limits->per_second > 0;
}

static bool ends_alike(const struct guarded_upstream *a, const struct guarded_upstream *b)
{
	return a->for_http == b->for_http && a->for_https == b->for_https;
}

/* The wire, behind limits if there are any. */
static int obtain_limits(struct guarded_upstream *upstream, const struct guarded_upstream *before)
{
	struct http_client *end;
	int error;

	if (before && before->limits && ends_alike(before, upstream)) {
		upstream->limits = shared_limits_acquire(before->limits);
		return 0;
	}
	error = shared_client_create(upstream->for_http, upstream->for_https, &end);
	if (error < 0)
		return error;
	error = shared_limits_create(end, &upstream->settings->limits, &upstream->limits);
	if (error < 0)
		http_client_destroy(end);
	return error;
}

static int add_end(struct guarded_upstream *upstream, struct wire_clients *wire,
                   const struct guarded_upstream *before)
{
	struct http_client *limited;
	int error = find_wires(upstream->settings, wire, &upstream->for_http, &upstream->for_https);

	if (error < 0)
		return error;
	if (!has_limits(&upstream->settings->limits))
		return shared_client_create(upstream->for_http, upstream->for_https,
		                            &upstream->client);
	error = obtain_limits(upstream, before);
	if (error < 0)
		return error;
	limited = shared_limits_client(upstream->limits);
	return shared_client_create(limited, limited, &upstream->client);
}

static int add_breaker(struct guarded_upstream *upstream)
{
	const struct breaker_settings *settings = &upstream->settings->breaker;
	int error;

	if (settings->error_percent == 0)
		return 0;
	error = breaker_client_create(upstream->client, settings, &upstream->breaker);
	if (error == 0)
		upstream->client = upstream->breaker;
	return error;
}

static int add_retry(struct guarded_upstream *upstream, uint64_t seed)
{
	const struct retry_settings *settings = &upstream->settings->retry;
	int error;

	if (settings->attempts <= 1)
		return 0;
	error = retry_client_create(upstream->client, settings, seed, &upstream->retry);
	if (error == 0)
		upstream->client = upstream->retry;
	return error;
}

static int add_hedge(struct guarded_upstream *upstream)
{
	const struct hedge_settings *settings = &upstream->settings->hedge;
	int error;

	if (settings->percentile == 0)
		return 0;
	error = hedge_client_create(upstream->client, settings, &upstream->hedge);
	if (error == 0)
		upstream->client = upstream->hedge;
	return error;
}

static int build_chain(struct guarded_upstream *upstream, struct wire_clients *wire, uint64_t seed,
                       const struct guarded_upstream *before)
{
	int error = add_end(upstream, wire, before);

	if (error == 0)
		error = add_breaker(upstream);
	if (error == 0)
		error = add_retry(upstream, seed);
	if (error == 0)
		error = add_hedge(upstream);
	if (error == 0)
		error = upstream_meter_create(upstream->client, &upstream->client);
	return error;
}

/* ------ the upstream */

static void destroy(struct guarded_upstream *upstream)
{
	http_client_destroy(upstream->client);
	shared_limits_release(upstream->limits);
	free(upstream->origin);
	free(upstream->settings);
	free(upstream);
}

static char *origin_of(const char *url)
{
	size_t length;
	const char *authority = url_authority(url, &length);

	return strndup(url, (size_t)(authority - url) + length);
}

int guarded_upstream_create(const struct upstream_settings *settings, struct wire_clients *wire,
                            uint64_t seed, const struct guarded_upstream *before,
                            struct guarded_upstream **out)
{
	struct guarded_upstream *upstream = calloc(1, sizeof(*upstream));
	int error;

	if (!upstream)
		return -ENOMEM;
	atomic_init(&upstream->references, 1);
	error = upstream_settings_copy(settings, &upstream->settings);
	if (error == 0)
		error = build_chain(upstream, wire, seed, before);
	if (error == 0 && settings->url) {
		upstream->origin = origin_of(settings->url);
		error = upstream->origin ? 0 : -ENOMEM;
	}
	if (error < 0) {
		destroy(upstream);
		return error;
	}
	*out = upstream;
	return 0;
}

bool guarded_upstream_is(const struct guarded_upstream *upstream,
                         const struct upstream_settings *settings, struct wire_clients *wire)
{
	struct http_client *for_http, *for_https;

	return upstream_settings_are_equal(upstream->settings, settings) &&
	       find_wires(settings, wire, &for_http, &for_https) == 0 &&
	       upstream->for_http == for_http && upstream->for_https == for_https;
}

void guarded_upstream_take_over(struct guarded_upstream *upstream)
{
	if (upstream->limits)
		upstream_client_set_limits(shared_limits_client(upstream->limits),
		                           &upstream->settings->limits);
}

void guarded_upstream_acquire(struct guarded_upstream *upstream)
{
	atomic_fetch_add_explicit(&upstream->references, 1, memory_order_relaxed);
}

void guarded_upstream_release(struct guarded_upstream *upstream)
{
	if (upstream &&
	    atomic_fetch_sub_explicit(&upstream->references, 1, memory_order_acq_rel) == 1)
		destroy(upstream);
}

void guarded_upstream_stats(struct guarded_upstream *upstream, struct upstream_stats *out)
{
	struct retry_stats retry = {0};
	struct hedge_stats hedge = {.delay_ns = INT64_MAX};
	struct breaker_stats breaker = {0};
	struct upstream_usage usage = {0};

	if (upstream->retry)
		retry_client_stats(upstream->retry, &retry);
	if (upstream->hedge)
		hedge_client_stats(upstream->hedge, &hedge);
	if (upstream->breaker)
		breaker_client_stats(upstream->breaker, &breaker);
	if (upstream->limits)
		upstream_client_usage(shared_limits_client(upstream->limits), &usage);
	*out = (struct upstream_stats){
		.retries = retry.retries,
		.retries_refused = retry.refused,
		.hedges = hedge.hedges,
		.hedges_won = hedge.won,
		.hedges_refused = hedge.refused,
		.hedge_delay_ns = hedge.delay_ns,
		.has_breaker = upstream->breaker,
		.breaker = breaker.state,
		.breaker_opened = breaker.opened,
		.permits = upstream->settings->limits.permits,
		.permits_in_use = usage.permits_in_use,
		.waiting = usage.waiting,
	};
	upstream_meter_stats(upstream->client, out);
}
