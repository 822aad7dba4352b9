#ifndef EXECUTORS_COROUTINE_DRIVER_H
#define EXECUTORS_COROUTINE_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "executors/coroutine/coroutine.h"
#include "executors/coroutine/fiber.h"
#include "executors/deadline.h"

/*
 * A driver is a pthread that runs carriers, one at a time. It keeps its carrier
 * until the carrier stops or the monitor gives it to another driver, because a
 * task has kept it for too long. Then this one goes on with that task alone,
 * until the task calls into the runtime; it finds that it has lost the carrier
 * and leaves for its carrier's inbox, and the driver becomes a spare. A task of a
 * heavy class (task_class.h) is like that from the start. A spare that is not
 * needed for 30 s ends.
 */
struct coroutine_carrier;

enum driver_state {
	DRIVER_TAKEN, /* waits for the carrier that whoever took it is about to give */
	DRIVER_RUNNING,
	DRIVER_SPARE, /* in the list */
};

struct driver {
	struct fiber native; /* its own stack, left while a task runs */
	struct driver_pool *pool;
	int tid;         /* for /proc/self/task; constant once it runs a carrier */
	clockid_t clock; /* of its CPU time; likewise */
	struct coroutine_carrier *carrier; /* NULL for a spare */

	/* Only this pthread touches these. */
	bool on_task;               /* a task's code runs */
	struct coroutine *left;     /* the last to leave its stack for ours */
	enum coroutine_after after; /* why it has */

	/* The pthread's own, at addresses that tasks may use while they own the carrier. */
	struct task **task_of_thread;
	int *errno_of_thread;

	pthread_cond_t given;                   /* with pool->lock */
	struct coroutine_carrier *next_carrier; /* pool->lock; what it is to run, or */
	struct coroutine *next_beside;          /* pool->lock; which task, beside its carrier */
	enum driver_state state;                /* pool->lock */
	struct driver *next;                    /* pool->lock; in the list of spares */
	struct deadline spare_until;            /* pool->lock; a spare ends then */
};

/** The drivers of one executor. */
struct driver_pool {
	int64_t spare_kept_ns; /* constant; 30 s */

	pthread_mutex_t lock;
	pthread_cond_t none_left; /* @count has become 0 */
	struct driver *spares;    /* lock; the last to become one first */
	unsigned count;           /* lock; drivers there are, spares included */
	unsigned max;             /* lock */
	bool closing;             /* lock; spares end */
	bool has_ended;           /* lock; @ended is to be joined */
	pthread_t ended;          /* lock */
};

void driver_pool_init(struct driver_pool *pool);

/** No carrier runs any more: end the spares and wait for all. Not from a driver. */
void driver_pool_finish(struct driver_pool *pool);

/** Let there be at most @max drivers. Those there are stay. Any thread. */
void driver_pool_set_max(struct driver_pool *pool, unsigned max);

/**
 * Take a spare, or start a driver if there are fewer than the maximum. To be given a carrier, or
 * put back. Any thread. Returns NULL when there is none to be had.
 */
struct driver *driver_pool_take(struct driver_pool *pool);
void driver_pool_put_back(struct driver_pool *pool, struct driver *driver);

/** Have @driver, which was taken, run @carrier. Any thread that owns the carrier. */
void driver_give(struct driver *driver, struct coroutine_carrier *carrier);

/** Have @driver, which was taken, run @coroutine beside its carrier. Any thread that owns that. */
void driver_give_beside(struct driver *driver, struct coroutine *coroutine);

/** Drivers that exist. Any thread. */
unsigned driver_pool_count(struct driver_pool *pool);

/** The calling pthread's driver; NULL elsewhere. Read anew after every claiming call. */
struct driver *driver_self(void);

/** Whether the caller is on the own stack of @carrier's driver, and so may touch the carrier. */
bool driver_owns(const struct coroutine_carrier *carrier);

#endif
