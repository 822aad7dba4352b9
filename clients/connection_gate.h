#ifndef CLIENTS_CONNECTION_GATE_H
#define CLIENTS_CONNECTION_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "executors/deadline.h"
#include "executors/wait_list.h"

/*
 * How many connections there may be at once, in use and idle, on all carriers and to
 * all upstreams: file descriptors are what a process runs out of first. A call that
 * finds no idle connection takes room for a new one; when there is no room it waits,
 * rather than fail.
 *
 * A connection is its carrier's. So who has done with one passes it on to a call that waits at
 * the same place, which is a carrier; now and then, and if nobody waits there, to one
 * that waits elsewhere, once it is detached from the carrier. What would not fit is closed, and
 * its room goes to who has waited longest.
 */
struct connection_gate {
	unsigned limit;    /* constant */
	atomic_uint taken; /* Rooms. Sequentially consistent, with @waiting: who gives one up takes
	                      it off here, then looks there; who waits adds itself there, then looks
	                      here */
	atomic_uint waiting;

	pthread_mutex_t lock;
	struct connection_gate_place *first, **last; /* lock; where somebody waits, oldest first */
	unsigned turn;                               /* lock; counts what was passed on */
};

/** Zero it first. Its memory outlasts the calls that use it. */
struct connection_gate_place {
	struct wait_list waiters;                       /* the gate's lock, as all here */
	unsigned count;                                 /* of these */
	struct connection_gate_place *next, **previous; /* while somebody waits */
};

/** A connection that is passed on. Borrowed for the call. */
struct connection_offer {
	void *connection; /* what the other call is given */
	/* Whether it is what a call wants that asked for @wanted. Any thread, under the lock. */
	bool (*fits)(const struct connection_offer *offer, const void *wanted);
};

/** At most @limit connections, at least 1. */
void connection_gate_init(struct connection_gate *gate, unsigned limit);

/** There is no connection left. */
void connection_gate_finish(struct connection_gate *gate);

void connection_gate_place_init(struct connection_gate_place *place);

/** Take room for a new connection, if there is some and nobody waits for it. Any thread. */
bool connection_gate_take(struct connection_gate *gate);

/** Give up the room of a connection that is closed. Any thread; never waits. */
void connection_gate_leave(struct connection_gate *gate);

/**
 * Wait at @place for room, or for a connection that fits @wanted: it is in @given then, else NULL.
 * Task only; parks. Returns 0; -ETIMEDOUT or -ECANCELED, with neither.
 */
int connection_gate_wait(struct connection_gate *gate, struct connection_gate_place *place,
                         const void *wanted, struct deadline deadline, void **given);

enum connection_use {
	CONNECTION_IDLE,      /* nobody waits: keep it */
	CONNECTION_PASSED_ON, /* it is another call's now */
	CONNECTION_ELSEWHERE, /* detach it, and have it given to somebody elsewhere */
};

/** What to do with a connection of @place that is not in use any more. Any thread; never waits. */
enum connection_use connection_gate_pass(struct connection_gate *gate,
                                         struct connection_gate_place *place,
                                         const struct connection_offer *offer);

/** Give a connection, which is detached, to a call that waits, at @place last of all. False: nobody
 * waits whom it fits. Any thread; never waits. */
bool connection_gate_give(struct connection_gate *gate, struct connection_gate_place *place,
                          const struct connection_offer *offer);

/** Whether idle connections are better given to others. Any thread. */
static inline bool connection_gate_is_short(const struct connection_gate *gate)
{
	return atomic_load_explicit(&gate->waiting, memory_order_relaxed) > 0;
}

/** Whether that may come to be: less than half of the room is left. Any thread. */
static inline bool connection_gate_may_be_short(const struct connection_gate *gate)
{
	return atomic_load_explicit(&gate->taken, memory_order_relaxed) > gate->limit / 2;
}

#endif
