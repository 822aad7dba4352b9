#ifndef EXECUTORS_COROUTINE_EXECUTOR_H
#define EXECUTORS_COROUTINE_EXECUTOR_H

#include <pthread.h>
#include <stdatomic.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/driver.h"
#include "executors/coroutine/monitor.h"
#include "executors/coroutine/stack_pool.h"
#include "executors/coroutine/task_class.h"
#include "executors/executor_ops.h"

struct coroutine_executor {
	struct executor base; /* first */
	struct stack_pool stacks;
	struct driver_pool drivers;
	struct monitor monitor;
	struct task_classes classes;
	struct run_filter filter;         /* of new tasks while a class is heavy */
	atomic_uint beside;               /* tasks beside their carriers, and some about to be.
	                                     Relaxed: who leaves wakes its carrier */
	_Atomic int64_t heavy_started_ns; /* relaxed; when a new task of a heavy class last was */

	pthread_mutex_t dump_lock; /* held by who takes a picture of the tasks */

	pthread_mutex_t lock;                             /* guards the carriers' states */
	pthread_cond_t stopped;                           /* a carrier has */
	struct coroutine_carrier *carriers[CARRIERS_MAX]; /* [0, created) constant once set */
	atomic_uint created; /* written under lock; release, partner: readers of @carriers */
	/* Written under lock; carriers [0, accepting) accept. Sequentially consistent, as their
	 * states are: a submitter pushes, then looks at the state of the carrier it chose by an
	 * older count; a resize sets the states, then wakes who accepts. One of them sees the
	 * other, so what was pushed to a retiring carrier is found. */
	atomic_uint accepting;
	atomic_uint placed; /* relaxed: a sequence to draw placements from */
};

/** Wake one sleeping carrier that accepts tasks, other than @except (may be NULL). */
void coroutine_executor_wake_one(struct coroutine_executor *executor,
                                 const struct coroutine_carrier *except);

/** Take up to @max tasks to start from queues other than @carrier's; 0: there is nothing. */
unsigned coroutine_executor_steal(struct coroutine_executor *executor,
                                  struct coroutine_carrier *carrier, struct task **tasks,
                                  unsigned max, bool only_retired);

/** What to pass over in run queues for now; NULL: nothing. */
const struct run_filter *coroutine_executor_filter(struct coroutine_executor *executor);

/** When to look again at tasks that were passed over; DEADLINE_NEVER: there are none. */
struct deadline coroutine_executor_look_again(struct coroutine_executor *executor);

/** A new task of a heavy class has been started. Any driver. */
void coroutine_executor_note_heavy_start(struct coroutine_executor *executor);

/** Have a spare run @coroutine beside its carrier. False: there is no room, or no spare. On the
 * carrier. */
bool coroutine_executor_set_beside(struct coroutine_executor *executor,
                                   struct coroutine *coroutine);

/** @coroutine has left the thread beside its carrier, for its carrier's inbox. On that thread. */
void coroutine_executor_end_beside(struct coroutine_executor *executor,
                                   struct coroutine *coroutine);

/** Whether any queue has a ticket to take from now. Sequentially consistent. */
bool coroutine_executor_has_new(struct coroutine_executor *executor);

/** The carrier has nothing left to do: true if its driver must close it. */
bool coroutine_executor_may_stop(struct coroutine_executor *executor,
                                 struct coroutine_carrier *carrier);

/** @carrier is closed; the last thing that its driver does to it. */
void coroutine_executor_stopped(struct coroutine_executor *executor,
                                struct coroutine_carrier *carrier);

/** The last task may have ended: if so and the executor is closing, wake every driver. */
void coroutine_executor_task_ended(struct coroutine_executor *executor);

#endif
