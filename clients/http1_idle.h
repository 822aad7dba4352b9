#ifndef CLIENTS_HTTP1_IDLE_H
#define CLIENTS_HTTP1_IDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clients/http1_hosts.h"

/*
 * The connections of one carrier, and how the others of the client get at its idle ones. Carriers
 * never have the same share of a fan-out twice; if each had connections for the greatest share it
 * ever had, there would be far more than calls in flight, and new ones in every fan-out.
 *
 * A connection is taken away from its carrier without asking: the taker ends its watch, has
 * the fd, and makes a connection of its own of it. The struct stays behind, since the carrier may
 * be about to pass on what was reported of it, until the carrier looks: http1_idle_forget().
 *
 *	idle at A   --  under A's lock, by B: in A's @taken, unwatched, its fd B's
 *	in @taken   --  under A's lock, on A: freed
 */
struct http1_idle {
	pthread_mutex_t lock;     /* of who works on the connections of this carrier; held for that
	                             long, and so tried, never waited for, by takers */
	struct http1_hosts hosts; /* lock */
	struct http1_connection *taken; /* lock; linked by @older */
	atomic_uint count; /* hosts.idle when the lock was given up last; relaxed: a hint */
	struct http1_peers *peers;
	struct http1_idle *next; /* peers->lock */
};

/** All carriers of a client from which connections may be taken away. */
struct http1_peers {
	pthread_mutex_t lock;
	struct http1_idle *first; /* lock */
};

void http1_peers_init(struct http1_peers *peers);

/** No carrier has connections of the client any more. */
void http1_peers_finish(struct http1_peers *peers);

/** @can_take_away: of the carrier, carrier_can_take_away(). */
void http1_idle_init(struct http1_idle *idle, struct http1_peers *peers, bool can_take_away);

/** From here on nobody takes anything away. On the carrier. */
void http1_idle_withdraw(struct http1_idle *idle);

/** It has no connections, and was withdrawn. On the carrier. */
void http1_idle_finish(struct http1_idle *idle);

/** Around every use of @hosts, which also forgets what was taken. On the carrier. */
void http1_idle_lock(struct http1_idle *idle);
void http1_idle_unlock(struct http1_idle *idle);

/**
 * Take an idle connection to @to away from another carrier than that of @idle, whose lock is held;
 * the one that was used longest ago. It is the caller's then, detached and of no table. NULL:
 * there is none at hand, or no memory. Any thread.
 */
struct http1_connection *http1_idle_take_away(struct http1_idle *idle,
                                              const struct http1_destination *to);

#endif
