#ifndef EXECUTORS_COROUTINE_TASK_LIFE_H
#define EXECUTORS_COROUTINE_TASK_LIFE_H

#include "executors/coroutine/carrier.h"

/*
 * How tasks begin and end on a carrier: a new one is taken from a queue and gets a
 * stack; when it has returned it is reported, and the stack goes to the next new one
 * or back to the carrier's cache. For whoever owns the carrier.
 */

/** Whether new tasks are at hand: taken from a queue, but without a stack yet. */
static inline bool task_life_has_new(const struct coroutine_carrier *carrier)
{
	return carrier->new_next < carrier->new_count;
}

/** Have something new at hand that waits in our queue or, every other time, in that of a retired
 * carrier. If there is nothing and @steal, in anybody's. False: there is nothing. */
bool task_life_take_new(struct coroutine_carrier *carrier, bool steal);

/** Give the next new task a stack. NULL: there is no such task, or no stack for it. On the driver's
 * own stack. */
struct coroutine *task_life_start(struct coroutine_carrier *carrier);

/**
 * The task of @coroutine has returned @result. End it if that may be done upon its own stack, and
 * have the stack run a new task instead if it is one's turn. False: leave for the driver, who does
 * the rest. On that stack.
 */
bool task_life_replace(struct coroutine *coroutine, int result);

/** @coroutine has left its stack for good: end its task if that is still to be done, and give the
 * stack back. On the driver's own stack. */
void task_life_finish(struct coroutine *coroutine);

#endif
