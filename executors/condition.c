#include "executors/condition.h"

#include <assert.h>

void task_condition_init(struct task_condition *condition)
{
	*condition = (struct task_condition){.lock = PTHREAD_MUTEX_INITIALIZER};
	wait_list_init(&condition->waiters);
}

void task_condition_finish(struct task_condition *condition)
{
	assert(!condition->waiters.first);
	pthread_mutex_destroy(&condition->lock);
}

int task_condition_wait(struct task_condition *condition, struct task_mutex *mutex,
                        struct deadline deadline)
{
	struct wait_site site = {.kind = WAIT_CONDITION, .object = condition};
	struct task_waiter waiter;
	int error;

	pthread_mutex_lock(&condition->lock);
	/* Whoever gets the mutex now needs our lock to signal, and so finds us in the list. */
	task_mutex_unlock(mutex);
	error = wait_list_wait_locked(&condition->waiters, &condition->lock, &waiter, site,
	                              deadline);
	pthread_mutex_unlock(&condition->lock);
	task_mutex_lock_masked(mutex);
	return error;
}

void task_condition_signal(struct task_condition *condition)
{
	pthread_mutex_lock(&condition->lock);
	(void)wait_list_call_locked(&condition->waiters);
	pthread_mutex_unlock(&condition->lock);
}

void task_condition_broadcast(struct task_condition *condition)
{
	pthread_mutex_lock(&condition->lock);
	while (wait_list_call_locked(&condition->waiters))
		continue;
	pthread_mutex_unlock(&condition->lock);
}
