#ifndef CLIENTS_CONNECTION_GATE_H
#define CLIENTS_CONNECTION_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "executors/deadline.h"
#include "executors/wait_list.h"

/*
 * How many connections may be in use at once, of all clients and to all upstreams: file
 * descriptors are what a process runs out of first. Calls beyond that wait for one
 * rather than fail.
 *
 * Connections stay on their carriers. So who leaves makes way for one who waits at the
 * same place, which is a carrier, and finds the connection there; now and then for one
 * who waits elsewhere, lest it wait for ever.
 */
struct connection_gate {
	unsigned limit; /* constant */
	atomic_uint
		in_use; /* Sequentially consistent, with @waiting: who leaves takes one off
	                   here, then looks there; who waits adds itself there, then looks here */
	atomic_uint waiting;

	pthread_mutex_t lock;
	struct connection_gate_place *first, **last; /* lock; places where somebody waits */
	unsigned turn;                               /* lock; counts who made way */
};

/** Zero it first. Its memory outlasts the calls that use it. */
struct connection_gate_place {
	struct wait_list waiters;                       /* the gate's lock, as all here */
	unsigned count;                                 /* of these */
	struct connection_gate_place *next, **previous; /* while somebody waits */
};

/** At most @limit connections, at least 1. */
void connection_gate_init(struct connection_gate *gate, unsigned limit);

/** Nobody is in, or waits. */
void connection_gate_finish(struct connection_gate *gate);

void connection_gate_place_init(struct connection_gate_place *place);

/** Go in if that takes no waiting, and overtakes nobody. Any thread. */
bool connection_gate_try_enter(struct connection_gate *gate);

/** Wait at @place until there is room. Task only; parks. Returns 0; -ETIMEDOUT or -ECANCELED, not
 * having gone in. */
int connection_gate_enter(struct connection_gate *gate, struct connection_gate_place *place,
                          struct deadline deadline);

/**
 * Leave from @place. True: somebody elsewhere takes the room, so the connection is to be closed
 * rather than kept, or there would be too many. Any thread; never waits.
 */
bool connection_gate_leave(struct connection_gate *gate, struct connection_gate_place *place);

#endif
