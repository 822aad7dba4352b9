#include "clients/connection_gate.h"

#include <assert.h>
#include <stddef.h>

/* Of so many who leave, one makes way for whoever has waited longest, wherever that is. */
#define TURNS_ELSEWHERE 16

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
	assert(atomic_load(&gate->in_use) == 0 && !gate->first);
	pthread_mutex_destroy(&gate->lock);
}

void connection_gate_place_init(struct connection_gate_place *place)
{
	*place = (struct connection_gate_place){0};
	wait_list_init(&place->waiters);
}

static bool take_room(struct connection_gate *gate)
{
	unsigned in_use = atomic_load(&gate->in_use);

	do {
		if (in_use >= gate->limit)
			return false;
	} while (!atomic_compare_exchange_weak(&gate->in_use, &in_use, in_use + 1));
	return true;
}

bool connection_gate_try_enter(struct connection_gate *gate)
{
	return atomic_load(&gate->waiting) == 0 && take_room(gate);
}

/* ------ under the lock */

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

static void let_in_locked(struct connection_gate *gate, struct connection_gate_place *place)
{
	(void)wait_list_call_locked(&place->waiters);
	drop_waiter_locked(gate, place);
}

/* Of those who are about to wait, or have begun to while somebody left: each room that is free. */
static void let_in_who_can_locked(struct connection_gate *gate)
{
	while (gate->first && take_room(gate))
		let_in_locked(gate, gate->first);
}

/* ------ */

int connection_gate_enter(struct connection_gate *gate, struct connection_gate_place *place,
                          struct deadline deadline)
{
	struct wait_site site = {.kind = WAIT_CONNECTION};
	struct task_waiter waiter;
	int error;

	if (connection_gate_try_enter(gate))
		return 0;
	pthread_mutex_lock(&gate->lock);
	add_waiter_locked(gate, place);
	if (gate->first == place && place->count == 1 && take_room(gate)) {
		drop_waiter_locked(gate, place);
		pthread_mutex_unlock(&gate->lock);
		return 0;
	}
	error = wait_list_wait_locked(&place->waiters, &gate->lock, &waiter, site, deadline);
	if (error < 0)
		drop_waiter_locked(gate, place);
	pthread_mutex_unlock(&gate->lock);
	return error;
}

bool connection_gate_leave(struct connection_gate *gate, struct connection_gate_place *place)
{
	struct connection_gate_place *next;

	if (atomic_load(&gate->waiting) == 0) {
		atomic_fetch_sub(&gate->in_use, 1);
		if (atomic_load(&gate->waiting) == 0)
			return false;
		pthread_mutex_lock(&gate->lock);
		let_in_who_can_locked(gate);
		pthread_mutex_unlock(&gate->lock);
		return false;
	}
	pthread_mutex_lock(&gate->lock);
	next = place->count == 0 || ++gate->turn % TURNS_ELSEWHERE == 0 ? gate->first : place;
	if (next)
		let_in_locked(gate, next);
	else
		atomic_fetch_sub(&gate->in_use, 1);
	pthread_mutex_unlock(&gate->lock);
	return next && next != place;
}
