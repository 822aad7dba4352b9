#ifndef EXECUTORS_ONCE_H
#define EXECUTORS_ONCE_H

#include <stdatomic.h>

#include "executors/mutex.h"

/*
 * Something to be done once, by the first task that needs it, which may wait
 * while doing it: the others park until it is done.
 */
struct task_once {
	struct task_mutex mutex;
	atomic_bool is_done; /* set under mutex, with release; partner of the acquire in
	                        task_once_run() */
};

void task_once_init(struct task_once *once);

/** Nobody is in task_once_run(). */
void task_once_finish(struct task_once *once);

/**
 * Call fn(arg) unless an earlier call has returned 0, or wait until @deadline for the one that is
 * under way. What a successful call wrote is visible afterwards.
 *
 * One that fails has not done it: its own caller gets the error, and who has waited longest makes
 * the next attempt. @fn must not come back to @once.
 *
 * Task only; parks. Returns 0 it is done; the negative errno of @fn; -ETIMEDOUT or -ECANCELED
 * before the caller had its turn.
 */
int task_once_run(struct task_once *once, int (*fn)(void *arg), void *arg,
                  struct deadline deadline);

#endif
