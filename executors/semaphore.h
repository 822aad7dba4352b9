#ifndef EXECUTORS_SEMAPHORE_H
#define EXECUTORS_SEMAPHORE_H

#include <pthread.h>

#include "executors/task.h"
#include "executors/wait_list.h"

/*
 * A number of permits that tasks take and give back, in the order in which they
 * asked: a permit that is given back goes to who has waited longest, and nobody
 * overtakes. Between tasks of any executors.
 */
struct task_semaphore {
	pthread_mutex_t lock;
	unsigned permits;         /* lock; free ones. 0 while anybody waits, or any are owed */
	unsigned owed;            /* lock; of those that are given back so many vanish */
	struct wait_list waiters; /* lock */
};

void task_semaphore_init(struct task_semaphore *semaphore, unsigned permits);

/** Nobody waits or holds a permit that is yet to be given back. */
void task_semaphore_finish(struct task_semaphore *semaphore);

/**
 * Take a permit, waiting for one until @deadline; a free one is taken even if that has passed.
 *
 * Task only; parks. Returns 0; -ETIMEDOUT or -ECANCELED without a permit.
 */
int task_semaphore_acquire(struct task_semaphore *semaphore, struct deadline deadline);

/** The same for clean-up: waits as long as it takes, and is never cancelled. */
void task_semaphore_acquire_masked(struct task_semaphore *semaphore);

/** Take a permit if that takes no waiting. Any thread. Returns 0 or -EAGAIN. */
int task_semaphore_try_acquire(struct task_semaphore *semaphore);

/** Give a permit back, or add one. Any thread; never waits. */
void task_semaphore_release(struct task_semaphore *semaphore);

/** Have @by more permits, for who waits or free, or fewer if it is negative: of those that are out
 * so many vanish when they are given back as are not free now. Any thread; never waits. */
void task_semaphore_change(struct task_semaphore *semaphore, int by);

/** How many permits are free at the moment; negative: how many are out that are to vanish. Any
 * thread. */
int task_semaphore_free(struct task_semaphore *semaphore);

/* For mutex.c: acquire, saying what the caller waits for. */
int task_semaphore_acquire_at(struct task_semaphore *semaphore, struct wait_site site,
                              struct deadline deadline);
void task_semaphore_acquire_masked_at(struct task_semaphore *semaphore, struct wait_site site);

#endif
