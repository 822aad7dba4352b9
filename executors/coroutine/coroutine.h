#ifndef EXECUTORS_COROUTINE_COROUTINE_H
#define EXECUTORS_COROUTINE_COROUTINE_H

#include <stdbool.h>

#include "executors/carrier.h"
#include "executors/coroutine/fiber.h"
#include "executors/coroutine/stack_pool.h"
#include "executors/task.h"
#include "executors/timer_heap.h"

/*
 * A stack with a task on it. The struct stands at the top of the stack, in
 * the same page as its first frames, so that starting a task touches one page. It belongs to one
 * carrier for the task's whole life, and only that carrier's driver resumes it.
 */
struct coroutine_carrier;

struct coroutine {
	struct fiber fiber; /* first: fiber_enter() gets its address */
	struct coroutine_carrier *carrier;
	struct task *task;
	struct stack *stack;    /* just above */
	struct coroutine *next; /* in the ready ring or the inbox: one at a time */

	struct timer timeout; /* set while it is parked with a deadline */
	bool timed_out;       /* that timer ended the park */
	bool parked;          /* counted as parked */

	/* What carrier_call() wants done while the stack is left. */
	void (*call)(struct carrier *carrier, void *arg);
	void *call_arg;
};

#endif
