#ifndef EXECUTORS_MUTEX_H
#define EXECUTORS_MUTEX_H

#include "executors/semaphore.h"
#include "executors/task.h"

/*
 * Mutual exclusion between tasks of any executors. Unlike a pthread mutex it may
 * be held across a wait. It is handed over in the order of asking, so nobody
 * starves; for a few instructions without a wait a pthread mutex is cheaper.
 */
struct task_mutex {
	struct task_semaphore semaphore;

	/* NULL while free. Relaxed: a task only compares it with itself, and no other stores that;
	 * for others it is a name, not to be followed. */
	_Atomic(struct task *) owner;
};

void task_mutex_init(struct task_mutex *mutex);

/** Nobody holds it or waits for it. */
void task_mutex_finish(struct task_mutex *mutex);

/**
 * Wait for the mutex until @deadline; not recursive. A free one is taken even if that has passed.
 *
 * Task only; parks. Returns 0; -ETIMEDOUT or -ECANCELED without it.
 */
int task_mutex_lock(struct task_mutex *mutex, struct deadline deadline);

/** The same for clean-up: waits as long as it takes, and is never cancelled. */
void task_mutex_lock_masked(struct task_mutex *mutex);

/** Task only. Returns 0 or -EAGAIN. */
int task_mutex_trylock(struct task_mutex *mutex);

/** By the task that holds it. Never waits. */
void task_mutex_unlock(struct task_mutex *mutex);

/* For once.c: task_mutex_lock(), saying what the caller waits for. */
int task_mutex_lock_at(struct task_mutex *mutex, struct wait_site site, struct deadline deadline);

#endif
