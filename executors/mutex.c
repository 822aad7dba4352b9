#include "executors/mutex.h"

#include <assert.h>
#include <stddef.h>

static bool is_mine(struct task_mutex *mutex)
{
	return atomic_load_explicit(&mutex->owner, memory_order_relaxed) == task_current();
}

static void set_owner(struct task_mutex *mutex, struct task *task)
{
	atomic_store_explicit(&mutex->owner, task, memory_order_relaxed);
}

void task_mutex_init(struct task_mutex *mutex)
{
	task_semaphore_init(&mutex->semaphore, 1);
	atomic_init(&mutex->owner, NULL);
}

void task_mutex_finish(struct task_mutex *mutex)
{
	assert(!atomic_load_explicit(&mutex->owner, memory_order_relaxed));
	task_semaphore_finish(&mutex->semaphore);
}

static struct wait_site site_of(const struct task_mutex *mutex)
{
	return (struct wait_site){.kind = WAIT_MUTEX, .object = mutex};
}

int task_mutex_lock_at(struct task_mutex *mutex, struct wait_site site, struct deadline deadline)
{
	int error;

	assert(task_current() && !is_mine(mutex));
	error = task_semaphore_acquire_at(&mutex->semaphore, site, deadline);
	if (error == 0)
		set_owner(mutex, task_current());
	return error;
}

int task_mutex_lock(struct task_mutex *mutex, struct deadline deadline)
{
	return task_mutex_lock_at(mutex, site_of(mutex), deadline);
}

void task_mutex_lock_masked(struct task_mutex *mutex)
{
	assert(task_current() && !is_mine(mutex));
	task_semaphore_acquire_masked_at(&mutex->semaphore, site_of(mutex));
	set_owner(mutex, task_current());
}

int task_mutex_trylock(struct task_mutex *mutex)
{
	int error;

	assert(task_current());
	error = task_semaphore_try_acquire(&mutex->semaphore);
	if (error == 0)
		set_owner(mutex, task_current());
	return error;
}

void task_mutex_unlock(struct task_mutex *mutex)
{
	assert(is_mine(mutex));
	set_owner(mutex, NULL);
	task_semaphore_release(&mutex->semaphore);
}
