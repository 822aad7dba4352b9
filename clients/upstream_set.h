#ifndef CLIENTS_UPSTREAM_SET_H
#define CLIENTS_UPSTREAM_SET_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/address_policy.h"
#include "clients/upstream_settings.h"
#include "clients/upstream_stats.h"
#include "clients/url_allow.h"

/*
 * The upstreams that can be called by name, each with its limits, retries, breaker and
 * hedging, as the configuration has them at one time. A set never changes; a new
 * configuration is a new set, which takes over from the one before it the upstreams
 * whose settings are the same, with their breakers and counters. Others keep the permits that
 * are out, and their calls go by the new limits from then on. Connections outlive all sets.
 *
 *	set = upstream_holder_acquire(holder);         a request: one set for its whole life
 *	upstream = upstream_set_find(set, "inventory");
 *	http_call(upstream->client, &call, deadline);  call.url is upstream->origin and a path
 *	upstream_set_release(set);
 */
struct upstream_set;

/** What a call of the upstream has to bring along. Lives as long as its set. */
struct named_upstream {
	const char *name;           /* NULL: the default, or that for absolute URLs */
	const char *origin;         /* "https://host:8443", without a slash; NULL: absolute URLs */
	struct http_client *client; /* for http_call() */
	unsigned timeout_ms;        /* for calls that say none; 0: none */
	const struct http_header *headers; /* to go before those of the call itself */
	size_t header_count;
	const struct address_policy *addresses; /* for struct http_call */
};

struct upstream_set_options {
	/* Copied. No two may have the same name. */
	const struct upstream_settings *upstreams;
	size_t count;

	/* Copied. For absolute URLs, which @allow says; its url is NULL. NULL: there are none. */
	const struct upstream_settings *absolute;
	struct url_allow allow; /* its patterns are copied */

	struct wire_clients *wire;     /* borrowed; outlives the set */
	struct upstream_set *previous; /* borrowed for the call; its calls go by the new limits
	                                  once the set is made. NULL: there is none */
	uint64_t seed;                 /* of random pauses */
};

/**
 * On success *@out has one reference, for upstream_set_release() or upstream_holder_init().
 *
 * Returns 0, or with *@faulty set to the index of the upstream at fault, which is the count for
 * that of absolute URLs: -EINVAL its URL has no host that can be called; -EEXIST its name is that
 * of another; what wire_clients_find() does. -ENOMEM of whatever. Any thread; may read files.
 */
int upstream_set_create(const struct upstream_set_options *options, struct upstream_set **out,
                        size_t *faulty);

/** One more reference. Any thread. */
struct upstream_set *upstream_set_acquire(struct upstream_set *set);

/** No call that was made through this reference is in progress. Any thread. NULL is ignored. */
void upstream_set_release(struct upstream_set *set);

/** The upstream called @name, NULL for the default; NULL: there is none. Any thread. */
const struct named_upstream *upstream_set_find(const struct upstream_set *set, const char *name);

/**
 * The upstream for @url, an absolute one.
 *
 * Returns 0; -EINVAL it is no URL that a call can be made to; -EACCES it is not allowed. Then
 * *@reason is static text. Any thread.
 */
int upstream_set_find_absolute(const struct upstream_set *set, const char *url,
                               const struct named_upstream **out, const char **reason);

/** All of them, by name, the default first and that for absolute URLs last. Any thread. */
size_t upstream_set_count(const struct upstream_set *set);
const struct named_upstream *upstream_set_at(const struct upstream_set *set, size_t index);
const struct upstream_settings *upstream_set_settings_at(const struct upstream_set *set,
                                                         size_t index);
void upstream_set_stats_at(const struct upstream_set *set, size_t index,
                           struct upstream_stats *out);

/** Where requests find the set of the day. */
struct upstream_holder {
	pthread_mutex_t lock;
	struct upstream_set *current; /* lock */
};

/** @set is consumed, that is, the caller's reference. */
void upstream_holder_init(struct upstream_holder *holder, struct upstream_set *set);

/** Gives its reference up. Nobody uses it any more. */
void upstream_holder_finish(struct upstream_holder *holder);

/** The current set with a reference for the caller. Any thread; never waits. */
struct upstream_set *upstream_holder_acquire(struct upstream_holder *holder);

/** From now on requests find @set, which is consumed; those that have the one before keep it. Any
 * thread. */
void upstream_holder_swap(struct upstream_holder *holder, struct upstream_set *set);

#endif
