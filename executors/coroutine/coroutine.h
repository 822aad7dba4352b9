#ifndef EXECUTORS_COROUTINE_COROUTINE_H
#define EXECUTORS_COROUTINE_COROUTINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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
struct task_class;

/* Why a coroutine has left its stack: what the driver it lands on has to do. */
enum coroutine_after {
	AFTER_WAIT, /* it is ready, or parked */
	AFTER_CALL,
	AFTER_EXIT,  /* its task has returned, and may have been ended */
	AFTER_LOST,  /* the carrier is another driver's, or it ran beside its carrier */
	AFTER_HEAVY, /* it is to go on beside its carrier, where there is room */
};

/*
 * Fields are read and written on the carrier, or by the task while it runs, but for those that
 * are marked. Its memory stays a coroutine's until the executor ends.
 */
struct coroutine {
	struct fiber fiber; /* first: fiber_enter() gets its address */

	/* Relaxed; set when it starts. For who looks at a carrier that a task keeps. */
	_Atomic(const char *) name;
	_Atomic(const void *) id; /* the task's address */

	struct coroutine *live_next, **live_previous; /* carrier->coroutines */
	int64_t started_ns, parked_ns;                /* carrier->now_ns of then */
	atomic_bool is_away; /* on another thread than its carrier's: set on the carrier,
	                        cleared with release when its stack has been left, partner: the
	                        acquire in task_dump.c */

	struct coroutine_carrier *carrier;
	struct task *task;      /* NULL once it has ended */
	struct stack *stack;    /* just above */
	struct coroutine *next; /* in a list of the carrier's, one at a time: ready,
	                           heavy or the inbox */

	struct timer timeout; /* set while it is parked with a deadline */
	bool timed_out;       /* that timer ended the park */
	bool parked;          /* counted as parked */
	int result;           /* with AFTER_EXIT: the task's */

	struct task_class *task_class; /* NULL: no task of its kind has kept a carrier */
	bool was_pinned;               /* it has kept its carrier, or its thread */
	bool is_beside;                /* resumed on a thread beside its carrier's */
	int64_t beside_since_ns;       /* when it was last given to a spare */

	uint64_t expected; /* the carrier's word as the task left it: what its next claim is to find
	                    */

	/* With AFTER_CALL: what carrier_call() wants done while the stack is left. */
	void (*call)(struct carrier *carrier, void *arg);
	void *call_arg;
};

/** Whether @address, a stack pointer perhaps, lies on the stack of @coroutine, which ends above its
 * guard. Looks only at what never changes: any thread, also in a signal handler. */
static inline bool coroutine_has_on_stack(const struct coroutine *coroutine, uintptr_t address)
{
	const struct stack *stack = (const struct stack *)(coroutine + 1);

	return address >= (uintptr_t)stack->low && address < (uintptr_t)coroutine;
}

/** The first function on a coroutine's stack; @fiber is its fiber. */
void coroutine_main(void *fiber);

/* struct executor_ops; each may come back on another pthread. */
int coroutine_park(struct task *task, struct deadline deadline);
void coroutine_yield(struct task *task);
struct carrier *coroutine_current_carrier(struct task *task);

/* struct carrier_ops, likewise. */
void coroutine_call(struct carrier *carrier, struct task *task,
                    void (*fn)(struct carrier *carrier, void *arg), void *arg);
void coroutine_call_small(struct carrier *carrier, struct task *task,
                          void (*fn)(struct carrier *carrier, void *arg), void *arg);

#endif
