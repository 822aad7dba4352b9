#ifndef EXECUTORS_CONDITION_H
#define EXECUTORS_CONDITION_H

#include <pthread.h>

#include "executors/mutex.h"
#include "executors/wait_list.h"

/*
 * A condition variable for tasks of any executors, beside a task_mutex that
 * guards what is waited for:
 *
 *	error = task_mutex_lock(&queue->mutex, deadline);
 *	if (error < 0)
 *		return error;
 *	while (queue->is_empty && error == 0)
 *		error = task_condition_wait(&queue->not_empty, &queue->mutex, deadline);
 *
 * Signals go to who has waited longest.
 */
struct task_condition {
	pthread_mutex_t lock;
	struct wait_list waiters; /* lock */
};

void task_condition_init(struct task_condition *condition);

/** Nobody waits. */
void task_condition_finish(struct task_condition *condition);

/**
 * Give up @mutex, wait for a signal until @deadline, and take @mutex again, which the caller holds
 * afterwards whatever is returned: for that it waits as long as it takes.
 *
 * By the task that holds @mutex; parks. Returns 0 for a signal, and what it announced may have
 * been taken by another task meanwhile; -ETIMEDOUT; -ECANCELED. No signal is lost in the latter.
 */
int task_condition_wait(struct task_condition *condition, struct task_mutex *mutex,
                        struct deadline deadline);

/** Wake who has waited longest, if anybody does. Any thread, with or without the mutex; never
 * waits. */
void task_condition_signal(struct task_condition *condition);

/** The same for all who wait. */
void task_condition_broadcast(struct task_condition *condition);

#endif
