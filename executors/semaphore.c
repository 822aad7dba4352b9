#include "executors/semaphore.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

void task_semaphore_init(struct task_semaphore *semaphore, unsigned permits)
{
	*semaphore = (struct task_semaphore){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.permits = permits,
	};
	wait_list_init(&semaphore->waiters);
}

void task_semaphore_finish(struct task_semaphore *semaphore)
{
	assert(!semaphore->waiters.first);
	pthread_mutex_destroy(&semaphore->lock);
}

static bool take_free_locked(struct task_semaphore *semaphore)
{
	if (semaphore->permits == 0)
		return false;
	semaphore->permits--;
	return true;
}

static struct wait_site site_of(const struct task_semaphore *semaphore)
{
	return (struct wait_site){.kind = WAIT_SEMAPHORE, .object = semaphore};
}

int task_semaphore_acquire_at(struct task_semaphore *semaphore, struct wait_site site,
                              struct deadline deadline)
{
	struct task_waiter waiter;
	int error = 0;

	pthread_mutex_lock(&semaphore->lock);
	if (!take_free_locked(semaphore))
		error = wait_list_wait_locked(&semaphore->waiters, &semaphore->lock, &waiter, site,
		                              deadline);
	pthread_mutex_unlock(&semaphore->lock);
	return error;
}

int task_semaphore_acquire(struct task_semaphore *semaphore, struct deadline deadline)
{
	return task_semaphore_acquire_at(semaphore, site_of(semaphore), deadline);
}

void task_semaphore_acquire_masked_at(struct task_semaphore *semaphore, struct wait_site site)
{
	struct task_waiter waiter;

	pthread_mutex_lock(&semaphore->lock);
	if (!take_free_locked(semaphore))
		wait_list_wait_masked_locked(&semaphore->waiters, &semaphore->lock, &waiter, site);
	pthread_mutex_unlock(&semaphore->lock);
}

void task_semaphore_acquire_masked(struct task_semaphore *semaphore)
{
	task_semaphore_acquire_masked_at(semaphore, site_of(semaphore));
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
	pthread_mutex_lock(&semaphore->lock);
	if (semaphore->owed > 0)
		semaphore->owed--;
	else if (!wait_list_call_locked(&semaphore->waiters))
		semaphore->permits++;
	pthread_mutex_unlock(&semaphore->lock);
}

static unsigned lesser(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static void add_locked(struct task_semaphore *semaphore, unsigned more)
{
	unsigned settled = lesser(more, semaphore->owed);

	semaphore->owed -= settled;
	for (more -= settled; more > 0 && wait_list_call_locked(&semaphore->waiters);)
		more--;
	semaphore->permits += more;
}

static void remove_locked(struct task_semaphore *semaphore, unsigned fewer)
{
	unsigned free = lesser(fewer, semaphore->permits);

	semaphore->permits -= free;
	semaphore->owed += fewer - free;
}

void task_semaphore_change(struct task_semaphore *semaphore, int by)
{
	pthread_mutex_lock(&semaphore->lock);
	if (by >= 0)
		add_locked(semaphore, (unsigned)by);
	else
		remove_locked(semaphore, 0U - (unsigned)by);
	pthread_mutex_unlock(&semaphore->lock);
}

int task_semaphore_free(struct task_semaphore *semaphore)
{
	int permits;

	pthread_mutex_lock(&semaphore->lock);
	permits = (int)semaphore->permits - (int)semaphore->owed;
	pthread_mutex_unlock(&semaphore->lock);
	return permits;
}
