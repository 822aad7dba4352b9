#ifndef EXECUTORS_COROUTINE_TURN_H
#define EXECUTORS_COROUTINE_TURN_H

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/driver.h"

/*
 * What runs next on a carrier, and for how long before its poller is looked at
 * again: a turn is 61 tasks, or as many as end within 20 us, but not more than 200 us.
 *
 * First the task that was woken last from elsewhere than the carrier's loop, which mostly means
 * by the task that ran last, but at most three such in a row; then those that are ready, first
 * come, first served. For whoever owns the carrier: its driver, or a task that is about to leave
 * its stack, which goes straight to the next one.
 */

/** Begin a turn. */
void turn_begin(struct coroutine_carrier *carrier);

/* For turn_is_over(): it is time to look at the clock. */
bool turn_look(struct coroutine_carrier *carrier);

/** Whether the poller is to be looked at before anything else runs. */
static inline bool turn_is_over(struct coroutine_carrier *carrier)
{
	return carrier->tasks_run >= carrier->look_at && turn_look(carrier);
}

/** Whether turn_next() would give one. */
static inline bool turn_has_next(const struct coroutine_carrier *carrier)
{
	return carrier->ready || atomic_load_explicit(&carrier->inbox, memory_order_relaxed);
}

/* For turn_next(): the inbox is not empty. Returns what is to go on before its turn, or NULL. */
struct coroutine *turn_take_inbox(struct coroutine_carrier *carrier);

/** Take the next coroutine to go on; it is counted. NULL: none is ready. */
static inline struct coroutine *turn_next(struct coroutine_carrier *carrier)
{
	struct coroutine *coroutine = NULL;

	if (atomic_load_explicit(&carrier->inbox, memory_order_relaxed))
		coroutine = turn_take_inbox(carrier);
	if (!coroutine) {
		coroutine = carrier->ready;
		if (!coroutine)
			return NULL;
		carrier->ready = coroutine->next;
		if (!carrier->ready)
			carrier->ready_last = &carrier->ready;
		carrier->newest_in_a_row = 0;
	}
	carrier->tasks_run++;
	return coroutine;
}

/** Take the next new task, which has no stack yet; it is counted. NULL: none is at hand. */
struct task *turn_next_new(struct coroutine_carrier *carrier);

/** @coroutine, of this carrier, has become ready. */
static inline void turn_push(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	coroutine->next = NULL;
	*carrier->ready_last = coroutine;
	carrier->ready_last = &coroutine->next;
}

/** The same, for those who do not own the carrier. Any thread. */
void turn_push_from_elsewhere(struct coroutine_carrier *carrier, struct coroutine *coroutine);

/** Count @coroutine as parked, or no longer. */
static inline void turn_set_parked(struct coroutine *coroutine, bool parked)
{
	atomic_uint *count = &coroutine->carrier->parked;
	unsigned before = atomic_load_explicit(count, memory_order_relaxed);

	if (parked == coroutine->parked)
		return;
	coroutine->parked = parked;
	atomic_store_explicit(count, parked ? before + 1 : before - 1, memory_order_relaxed);
}

/** @coroutine is about to go on, on @driver: a new sequence number, for a new stretch of TASK. */
static inline void turn_switches_to(struct coroutine_carrier *carrier, struct driver *driver,
                                    struct coroutine *coroutine)
{
	uint64_t word = atomic_load_explicit(&carrier->word, memory_order_relaxed);

	turn_set_parked(coroutine, false);
	atomic_store_explicit(&carrier->current, coroutine, memory_order_relaxed);
	*driver->task_of_thread = coroutine->task;
	atomic_store_explicit(&carrier->word, word + WORD_SEQUENCE, memory_order_relaxed);
}

#endif
