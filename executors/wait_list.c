#include "executors/wait_list.h"

#include <assert.h>
#include <stddef.h>

void wait_list_init(struct wait_list *list)
{
	*list = (struct wait_list){.last = &list->first};
}

static void append_locked(struct wait_list *list, struct task_waiter *waiter)
{
	waiter->task = task_current();
	assert(waiter->task);
	waiter->is_called = false;
	waiter->next = NULL;
	waiter->previous = list->last;
	*list->last = waiter;
	list->last = &waiter->next;
}

static void remove_locked(struct wait_list *list, struct task_waiter *waiter)
{
	*waiter->previous = waiter->next;
	if (waiter->next)
		waiter->next->previous = waiter->previous;
	else
		list->last = waiter->previous;
}

static int wait_by(int (*park)(struct wait_site site, struct deadline deadline),
                   struct wait_list *list, pthread_mutex_t *lock, struct task_waiter *waiter,
                   struct wait_site site, struct deadline deadline)
{
	int error = 0;

	append_locked(list, waiter);
	while (!waiter->is_called && error == 0) {
		pthread_mutex_unlock(lock);
		error = park(site, deadline);
		pthread_mutex_lock(lock);
	}
	if (waiter->is_called)
		return 0;
	remove_locked(list, waiter);
	return error;
}

int wait_list_wait_locked(struct wait_list *list, pthread_mutex_t *lock, struct task_waiter *waiter,
                          struct wait_site site, struct deadline deadline)
{
	return wait_by(task_park_at, list, lock, waiter, site, deadline);
}

void wait_list_wait_masked_locked(struct wait_list *list, pthread_mutex_t *lock,
                                  struct task_waiter *waiter, struct wait_site site)
{
	(void)wait_by(task_park_masked_at, list, lock, waiter, site, DEADLINE_NEVER);
}

struct task_waiter *wait_list_call_locked(struct wait_list *list)
{
	struct task_waiter *waiter = list->first;

	if (!waiter)
		return NULL;
	remove_locked(list, waiter);
	waiter->is_called = true;
	/* Under the lock: the waiter takes it again before it leaves. */
	task_wake(waiter->task);
	return waiter;
}
