#ifndef EXECUTORS_WAIT_LIST_H
#define EXECUTORS_WAIT_LIST_H

#include <pthread.h>
#include <stdbool.h>

#include "executors/task.h"

/*
 * The tasks that wait for one thing, in the order in which they came: what
 * semaphores, conditions and channels are made of. Every call is made with the
 * lock of the thing held.
 */
struct task_waiter {
	struct task *task;
	bool is_called; /* the lock; taken out of the list by wait_list_call() */
	struct task_waiter *next, **previous;
};

struct wait_list {
	struct task_waiter *first, **last; /* the lock */
};

void wait_list_init(struct wait_list *list);

/**
 * Wait, as the last in @list, until called; @lock is given up meanwhile. @waiter is the caller's
 * memory, on its stack, and needs no preparation. @site says what for.
 *
 * Task only; parks. Returns 0; -ETIMEDOUT or -ECANCELED if not called by then. A call that comes
 * at the same moment counts: what it stands for has been handed over already.
 */
int wait_list_wait_locked(struct wait_list *list, pthread_mutex_t *lock, struct task_waiter *waiter,
                          struct wait_site site, struct deadline deadline);

/** The same, but never cancelled and without a deadline. */
void wait_list_wait_masked_locked(struct wait_list *list, pthread_mutex_t *lock,
                                  struct task_waiter *waiter, struct wait_site site);

/**
 * Take out and wake who has waited longest. Any thread; never waits.
 *
 * Returns that waiter, which stays where it is until the lock is released; NULL if nobody waits.
 */
struct task_waiter *wait_list_call_locked(struct wait_list *list);

#endif
