#ifndef EXECUTORS_COROUTINE_CARRIER_H
#define EXECUTORS_COROUTINE_CARRIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/carrier_ops.h"
#include "executors/coroutine/coroutine.h"
#include "executors/coroutine/live_list.h"
#include "executors/coroutine/stack_cache.h"
#include "executors/executor_ops.h"
#include "executors/run_queue.h"

/* clang-format off */
/*
 * A carrier of coroutines is scheduler state: what is ready, what waits, what
 * has not started. A driver is the pthread that runs it.
 *
 * Ownership of a carrier is its word, `seq << 2 | TASK`:
 *
 *	from        to          who                              order
 *	SCHED(s)    TASK(s)     coroutine_release(): the driver, store, release: the last thing
 *	                        on the task's stack              before the task's own code goes on
 *	TASK(s)     SCHED(s)    coroutine_claim(): the task      compare-and-swap, acquire: the
 *	                                                         first thing of a claiming call
 *	TASK(s)     SCHED(s+1)  the monitor, for a spare driver  compare-and-swap, acquire
 *	SCHED(s)    SCHED(s+1)  who owns it, before each switch  relaxed: its own
 *	                        to a task
 *
 * In SCHED the driver, or the task that has claimed it and is still on its stack (for a
 * moment: the monitor), owns everything below that is not marked otherwise; in TASK nobody
 * does, and the task's code runs. A claiming
 * call (park, yield, carrier_call, the return) begins with a claim and ends with a
 * release; wake, cancel and submit never claim. A claim that fails has lost the
 * carrier for good, since s never comes back: the task leaves its stack and goes
 * to its carrier's inbox, and resumes in SCHED on the carrier's driver of then.
 */
/* clang-format on */
#define WORD_TASK UINT64_C(1)
#define WORD_BESIDE WORD_TASK /* of a task beside its carrier: no carrier's word is ever this */
#define WORD_SEQUENCE UINT64_C(4)

#define CARRIERS_MAX EXECUTOR_CARRIERS_MAX
#define CARRIER_EVENTS 256

/* New tasks taken from a queue at once, which saves locks, unless they prove to keep the carrier:
 * then each would hold up those behind it. */
#define CARRIER_NEW_TASKS 8

enum carrier_state {
	CARRIER_ACCEPTING, /* starts tasks */
	CARRIER_RETIRING,  /* runs those it has, leaves its queue to others, then stops */
	CARRIER_STOPPING,  /* its driver is closing it */
	CARRIER_STOPPED,   /* no driver; the struct stays, since a waker may be late */
};

struct coroutine_executor;
struct driver;
struct dump_request;

struct coroutine_carrier {
	struct carrier base; /* services and timers; first */
	struct coroutine_executor *executor;
	unsigned id;

	_Atomic uint64_t word;               /* see above */
	_Atomic(struct coroutine *) current; /* the last one switched to; relaxed: written by its
	                                        driver, read by who finds the word unchanged */
	_Atomic(struct driver *) driver; /* relaxed: written by itself, read by the monitor once it
	                                    has won the word */
	atomic_int driver_tid, driver_clock; /* its thread, and the clock of its CPU time, for the
	                                        monitor before that; relaxed */

	struct coroutine *ready, **ready_last;     /* FIFO; see turn.h */
	struct task *new_tasks[CARRIER_NEW_TASKS]; /* [new_next, new_count): taken from a queue, but
	                                              without a stack yet */
	unsigned new_next, new_count;

	int64_t turn_began_ns;
	unsigned tasks_run;       /* in this turn */
	unsigned look_at;         /* the next look, in tasks run */
	unsigned newest_in_a_row; /* tasks that have run before their turn, since one in its turn */

	struct coroutine *heavy,
		**heavy_last;       /* FIFO; those that wait for room beside the carrier */
	int64_t heavy_since_ns;     /* when the oldest came, or one was last let onto the carrier */
	struct timer_heap timeouts; /* of parked coroutines; has room for all live ones */
	struct stack_cache stacks;
	struct live_list coroutines;
	int64_t now_ns; /* CLOCK_MONOTONIC when the turn looked at it last */
	unsigned batch; /* new tasks to take at once; grows with each turn that no task cut off */
	unsigned turn;  /* counts attempts to start something new */

	int epoll_fd;
	int event_fd;                /* edge-triggered: written to wake, never read */
	struct carrier_fd wake_up;   /* on event_fd */
	struct epoll_event *events;  /* CARRIER_EVENTS of them */
	int event_next, event_count; /* the batch being dispatched */

	/* Shared with other threads. */
	struct run_queue queue;              /* scopes and roots placed here; anyone may take */
	_Atomic(struct coroutine *) inbox;   /* woken from elsewhere; newest first */
	atomic_bool sleeping;                /* Sequentially consistent, with @inbox and the queues'
	                                        counts: a producer publishes, then looks here; the
	                                        driver sets this, then looks there */
	_Atomic(struct dump_request *) dump; /* NULL: none wants to be served; see task_dump.c */
	atomic_int state;                    /* enum carrier_state; written under executor->lock,
	                                        see executor->accepting */
	atomic_uint live;   /* tasks here, new ones too; relaxed, written by the owner */
	atomic_uint parked; /* of these; relaxed, written by the owner */
};

/** One carrier, stopped. Returns 0, -ENOMEM or -EMFILE. */
int coroutine_carrier_create(struct coroutine_executor *executor, unsigned id,
                             struct coroutine_carrier **out);

/** No driver runs it. NULL is ignored. */
void coroutine_carrier_destroy(struct coroutine_carrier *carrier);

/** Run the carrier on @driver, the calling one, until it stops or is given to another driver. */
void coroutine_carrier_drive(struct coroutine_carrier *carrier, struct driver *driver);

/** Run @coroutine beside its carrier, on @driver, the calling one, until it rejoins. */
void coroutine_run_beside(struct coroutine *coroutine, struct driver *driver);

/** Have the driver look at its inbox, its queue and its state. Any thread. False if it was not
 * asleep: then it will look by itself. */
bool coroutine_carrier_wake(struct coroutine_carrier *carrier);

/* struct executor_ops */
void coroutine_unpark(struct task *task, unsigned state);

#endif
