#include "clients/connection_gate.h"

#include <assert.h>
#include <stddef.h>

/* Of so many connections one goes elsewhere, although somebody waits at its own place. */
#define TURNS_ELSEWHERE 16

/* A call that waits. On its task's stack. */
struct gate_waiter {
	struct task_waiter waiter; /* first */
	const void *wanted;
	void *given; /* the lock */
};

void connection_gate_init(struct connection_gate *gate, unsigned limit)
{
	assert(limit > 0);
	*gate = (struct connection_gate){
		.limit = limit,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.last = &gate->first,
	};
}

void connection_gate_finish(struct connection_gate *gate)
{
	assert(atomic_load(&gate->taken) == 0 && !gate->first);
	pthread_mutex_destroy(&gate->lock);
}

void connection_gate_place_init(struct connection_gate_place *place)
{
	*place = (struct connection_gate_place){0};
	wait_list_init(&place->waiters);
}

static bool take_room(struct connection_gate *gate)
{
	unsigned taken = atomic_load(&gate->taken);

	do {
		if (taken >= gate->limit)
			return false;
	} while (!atomic_compare_exchange_weak(&gate->taken, &taken, taken + 1));
	return true;
}

bool connection_gate_take(struct connection_gate *gate)
{
	return atomic_load(&gate->waiting) == 0 && take_room(gate);
}

static void add_waiter_locked(struct connection_gate *gate, struct connection_gate_place *place)
{
	atomic_fetch_add(&gate->waiting, 1);
	if (place->count++ > 0)
		return;
	place->next = NULL;
	place->previous = gate->last;
	*gate->last = place;
	gate->last = &place->next;
}

static void drop_waiter_locked(struct connection_gate *gate, struct connection_gate_place *place)
{
	atomic_fetch_sub(&gate->waiting, 1);
	if (--place->count > 0)
		return;
	*place->previous = place->next;
	if (place->next)
		place->next->previous = place->previous;
	else
		gate->last = place->previous;
}

/* The one that has waited longest there. */
static struct gate_waiter *first_at(const struct connection_gate_place *place)
{
	return (struct gate_waiter *)place->waiters.first;
}

/* @given, or with NULL a room that is taken already. */
static void serve_locked(struct connection_gate *gate, struct connection_gate_place *place,
                         void *given)
{
	first_at(place)->given = given;
	(void)wait_list_call_locked(&place->waiters);
	drop_waiter_locked(gate, place);
}

void connection_gate_leave(struct connection_gate *gate)
{
	atomic_fetch_sub(&gate->taken, 1);
	if (atomic_load(&gate->waiting) == 0)
		return;
	pthread_mutex_lock(&gate->lock);
	while (gate->first && take_room(gate))
		serve_locked(gate, gate->first, NULL);
	pthread_mutex_unlock(&gate->lock);
}

int connection_gate_wait(struct connection_gate *gate, struct connection_gate_place *place,
                         const void *wanted, struct deadline deadline, void **given)
{
	struct wait_site site = {.kind = WAIT_CONNECTION};
	struct gate_waiter self = {.wanted = wanted};
	int error = 0;

	pthread_mutex_lock(&gate->lock);
	add_waiter_locked(gate, place);
	if (gate->first == place && place->count == 1 && take_room(gate)) {
		drop_waiter_locked(gate, place);
	} else {
		error = wait_list_wait_locked(&place->waiters, &gate->lock, &self.waiter, site,
		                              deadline);
		if (error < 0)
			drop_waiter_locked(gate, place);
	}
	pthread_mutex_unlock(&gate->lock);
	if (error == 0)
		*given = self.given;
	return error;
}

static enum connection_use pass_locked(struct connection_gate *gate,
                                       struct connection_gate_place *place,
                                       const struct connection_offer *offer)
{
	bool is_alone = gate->first == place && !place->next;

	if (!gate->first)
		return CONNECTION_IDLE;
	if (place->count == 0 || !offer->fits(offer, first_at(place)->wanted))
		return CONNECTION_ELSEWHERE;
	if (++gate->turn % TURNS_ELSEWHERE == 0 && !is_alone)
		return CONNECTION_ELSEWHERE;
	serve_locked(gate, place, offer->connection);
	return CONNECTION_PASSED_ON;
}

enum connection_use connection_gate_pass(struct connection_gate *gate,
                                         struct connection_gate_place *place,
                                         const struct connection_offer *offer)
{
	enum connection_use use;

	if (atomic_load(&gate->waiting) == 0)
		return CONNECTION_IDLE;
	pthread_mutex_lock(&gate->lock);
	use = pass_locked(gate, place, offer);
	pthread_mutex_unlock(&gate->lock);
	return use;
}

bool connection_gate_give(struct connection_gate *gate, struct connection_gate_place *place,
                          const struct connection_offer *offer)
{
	struct connection_gate_place *to, *found = NULL;

	pthread_mutex_lock(&gate->lock);
	for (to = gate->first; to && (!found || found == place); to = to->next)
		if (offer->fits(offer, first_at(to)->wanted))
			found = to;
	if (found)
		serve_locked(gate, found, offer->connection);
	pthread_mutex_unlock(&gate->lock);
	return found;
}
