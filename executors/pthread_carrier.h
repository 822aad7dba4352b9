#ifndef EXECUTORS_PTHREAD_CARRIER_H
#define EXECUTORS_PTHREAD_CARRIER_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

#include "executors/carrier_ops.h"
#include "executors/pthread_seat.h"
#include "executors/task.h"
#include "executors/thread_start.h"

/*
 * The carrier that a pthread is while it runs tasks, one at a time: the pool and
 * the thread executor park, wake and watch through this.
 *
 * A task that parks here is the thread's own wait: on a futex, or in ppoll(2)
 * while file descriptors are watched. Ready descriptors and due timers are
 * served then; timers also between tasks, by pthread_carrier_serve_timers().
 */
struct pthread_carrier {
	struct carrier carrier;
	struct pthread_seat seat;

	/* Side by side, [0] is the eventfd's; NULL until something is watched. A watch that is not
	 * armed has the complement of its fd, which ppoll() passes over. */
	struct pollfd *polled;
	struct carrier_fd **watches;
	unsigned count; /* of both, [0] included */
	unsigned capacity;
	unsigned armed; /* of the watches */

	int eventfd;         /* -1 until first polled */
	bool is_in_callback; /* which must not wait */
};

/** On the thread itself; it stays one thread's, and is listed in @seats. */
void pthread_carrier_init(struct pthread_carrier *carrier, struct pthread_seats *seats);

/** Stop the services, close and free all. On the thread; no task is left on it. */
void pthread_carrier_finish(struct pthread_carrier *carrier);

/** Begin @task on this thread, run it, return what it returned. The task that ran before, if this
 * is inside of one, is current again afterwards. Does not end @task. */
int pthread_carrier_run(struct pthread_carrier *carrier, struct task *task);

/** Start a thread that runs tasks; see thread_start(). Its stack is address space and not memory:
 * enough for a client library with a sanitizer's red zones, small enough for thousands. */
static inline int pthread_carrier_start_thread(pthread_t *thread, void *(*main)(void *arg),
                                               void *arg)
{
	return thread_start(thread, 1 << 20, main, arg);
}

/** Fire the timers that are due. On the thread, between tasks. */
void pthread_carrier_serve_timers(struct pthread_carrier *carrier);

/* Members of struct executor_ops; task->seat is the struct pthread_carrier. */
int pthread_carrier_park(struct task *task, struct deadline deadline);
void pthread_carrier_unpark(struct task *task, unsigned state);
void pthread_carrier_yield(struct task *task);
struct carrier *pthread_carrier_of(struct task *task);

#endif
