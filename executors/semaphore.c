#include "executors/semaphore.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

/* On the waiting task's stack. */
struct semaphore_waiter {
	struct task *task;
	bool is_granted;                           /* the semaphore's lock; no longer on the list */
	struct semaphore_waiter *next, **previous; /* the semaphore's lock */
};

void task_semaphore_init(struct task_semaphore *semaphore, unsigned permits)
{
	*semaphore = (struct task_semaphore){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.permits = permits,
		.last = &semaphore->first,
	};
}

void task_semaphore_finish(struct task_semaphore *semaphore)
{
	assert(!semaphore->first);
	pthread_mutex_destroy(&semaphore->lock);
}

static void append_locked(struct task_semaphore *semaphore, struct semaphore_waiter *waiter)
{
	waiter->previous = semaphore->last;
	*semaphore->last = waiter;
	semaphore->last = &waiter->next;
}

static void remove_locked(struct task_semaphore *semaphore, struct semaphore_waiter *waiter)
{
	*waiter->previous = waiter->next;
	if (waiter->next)
		waiter->next->previous = waiter->previous;
	else
		semaphore->last = waiter->previous;
}

static bool take_free_locked(struct task_semaphore *semaphore)
{
	if (semaphore->permits == 0)
		return false;
	semaphore->permits--;
	return true;
}

/* A permit that arrives with the deadline is kept: it has been handed over already. */
static int wait_locked(struct task_semaphore *semaphore, struct deadline deadline)
{
	struct semaphore_waiter waiter = {.task = task_current()};
	int error = 0;

	assert(waiter.task);
	append_locked(semaphore, &waiter);
	while (!waiter.is_granted && error == 0) {
		pthread_mutex_unlock(&semaphore->lock);
		error = task_park(deadline);
		pthread_mutex_lock(&semaphore->lock);
	}
	if (waiter.is_granted)
		return 0;
	remove_locked(semaphore, &waiter);
	return error;
}

int task_semaphore_acquire(struct task_semaphore *semaphore, struct deadline deadline)
{
	int error;

	pthread_mutex_lock(&semaphore->lock);
	error = take_free_locked(semaphore) ? 0 : wait_locked(semaphore, deadline);
	pthread_mutex_unlock(&semaphore->lock);
	return error;
}

int task_semaphore_try_acquire(struct task_semaphore *semaphore)
{
	bool is_taken;

	pthread_mutex_lock(&semaphore->lock);
	is_taken = take_free_locked(semaphore);
	pthread_mutex_unlock(&semaphore->lock);
	return is_taken ? 0 : -EAGAIN;
}

void task_semaphore_release(struct task_semaphore *semaphore)
{
	struct semaphore_waiter *first;

	pthread_mutex_lock(&semaphore->lock);
	first = semaphore->first;
	if (first) {
		remove_locked(semaphore, first);
		first->is_granted = true;
		/* Under the lock: the waiter takes it again before it leaves. */
		task_wake(first->task);
	} else {
		semaphore->permits++;
	}
	pthread_mutex_unlock(&semaphore->lock);
}
