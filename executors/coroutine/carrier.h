#ifndef EXECUTORS_COROUTINE_CARRIER_H
#define EXECUTORS_COROUTINE_CARRIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/carrier_ops.h"
#include "executors/coroutine/coroutine.h"
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
 *	SCHED(s)    TASK(s)     carrier_release(): the driver,   store, release: the last thing
 *	                        on the task's stack              before the task's own code goes on
 *	TASK(s)     SCHED(s)    carrier_claim(): the task        compare-and-swap, acquire: the
 *	                                                         first thing of a claiming call
 *	SCHED(s)    SCHED(s+1)  the driver, before each switch   relaxed: its own
 *	                        to a task
 *
 * In SCHED the driver owns everything below that is not marked otherwise; in
 * TASK nobody does, and the task's code runs. A claiming call (park, yield,
 * carrier_call, the return) begins with a claim and ends with a release; wake,
 * cancel and submit never claim. A claim cannot fail as long as nothing takes a
 * carrier from a task that keeps it too long; then it will.
 */
/* clang-format on */
#define CARRIERS_MAX EXECUTOR_CARRIERS_MAX
#define CARRIER_EVENTS 256

enum carrier_state {
	CARRIER_ACCEPTING, /* starts tasks */
	CARRIER_RETIRING,  /* runs those it has, leaves its queue to others, then stops */
	CARRIER_STOPPED,   /* no driver; the struct stays, since a waker may be late */
};

/* What the loop does with a coroutine that has left its stack. */
enum carrier_after {
	AFTER_YIELD,
	AFTER_PARK,
	AFTER_CALL,
	AFTER_EXIT,
};

struct coroutine_executor;

struct coroutine_carrier {
	struct carrier base; /* services and timers; first */
	struct coroutine_executor *executor;
	unsigned id;

	_Atomic uint64_t word;     /* see above */
	struct coroutine *current; /* on its stack now */
	enum carrier_after after;  /* written by @current as it leaves */
	int result;                /* with AFTER_EXIT */

	struct coroutine *ready, **ready_last; /* FIFO */
	struct timer_heap timeouts; /* of parked coroutines; has room for all live ones */
	struct stack_cache stacks;
	unsigned turn; /* counts attempts to start something new */

	int epoll_fd;
	int event_fd;                /* edge-triggered: written to wake, never read */
	struct carrier_fd wake_up;   /* on event_fd */
	struct epoll_event *events;  /* CARRIER_EVENTS of them */
	int event_next, event_count; /* the batch being dispatched */

	/* Shared with other threads. */
	struct run_queue queue;            /* scopes and roots placed here; anyone may take */
	_Atomic(struct coroutine *) inbox; /* woken from elsewhere; newest first */
	atomic_bool sleeping;              /* Sequentially consistent, with @inbox and the queues'
	                                      counts: a producer publishes, then looks here; the
	                                      driver sets this, then looks there */
	atomic_int state;                  /* enum carrier_state; written under executor->lock,
	                                      see executor->accepting */
	atomic_uint live;                  /* coroutines here; relaxed, written by the driver */
	atomic_uint parked;                /* of these; relaxed, written by the driver */
	pthread_t thread;                  /* executor->lock */
	bool has_thread;                   /* executor->lock; to be joined */
};

/** One carrier, stopped. Returns 0, -ENOMEM or -EMFILE. */
int coroutine_carrier_create(struct coroutine_executor *executor, unsigned id,
                             struct coroutine_carrier **out);

/** Its thread has been joined. NULL is ignored. */
void coroutine_carrier_destroy(struct coroutine_carrier *carrier);

/** The body of a driver: run the carrier until it stops. */
void coroutine_carrier_drive(struct coroutine_carrier *carrier);

/** Have the driver look at its inbox, its queue and its state. Any thread. False if it was not
 * asleep: then it will look by itself. */
bool coroutine_carrier_wake(struct coroutine_carrier *carrier);

/* struct executor_ops */
int coroutine_park(struct task *task, struct deadline deadline);
void coroutine_unpark(struct task *task, unsigned state);
void coroutine_yield(struct task *task);
struct carrier *coroutine_current_carrier(struct task *task);

#endif
