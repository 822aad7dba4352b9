#include "executors/task.h"

#include <assert.h>
#include <stddef.h>

#include "executors/executor_ops.h"
#include "executors/scope.h"

/*
 * The permit. A wake is always exchange(NOTED): whoever finds PARKED or POLLING
 * there resumes the task, and nobody else does. A park consumes NOTED, or goes
 * from NONE to PARKED or POLLING by compare-and-swap once the task's stack or
 * thread can be resumed. Both are acquire-release, so what was written before a
 * wake is seen after the park that it ends.
 */

/*
 * On a task it is read by this alone, which is not inlined: a task may come back
 * from a wait on another pthread, and no address or value of a thread-local may be
 * carried across.
 */
_Thread_local struct task *task_of_thread;

__attribute__((noinline)) struct task *task_current(void)
{
	struct task *task = task_of_thread;

	__asm__ volatile("" : "+r"(task));
	return task;
}

__attribute__((noinline)) void task_set_current(struct task *task)
{
	task_of_thread = task;
	__asm__ volatile("" ::: "memory");
}

static void task_wake_by_cancel(struct cancel_watch *watch)
{
	task_wake((struct task *)((char *)watch - offsetof(struct task, watch)));
}

void task_watch_cancel_locked(struct task *task)
{
	task->watch = (struct cancel_watch){.notify = task_wake_by_cancel};
	cancel_watch_add_locked(task->cancel, &task->watch);
}

void task_begin(struct task *task, void *seat)
{
	task->seat = seat;
	if (task->scope || !task->cancel)
		return; /* scope_take_locked() has put a child under its scope's token */
	pthread_mutex_lock(&task->cancel->lock);
	task_watch_cancel_locked(task);
	pthread_mutex_unlock(&task->cancel->lock);
}

void task_end(struct task *task, int result)
{
	struct executor *executor = task->executor;
	struct scope *scope = task->scope;

	task->result = result;
	if (!scope && task->cancel)
		cancel_watch_remove(task->cancel, &task->watch);
	/* Before the report: a parent that waits for room tries again when it hears of us. */
	executor_release(executor);
	if (scope)
		scope_child_done(scope, task);
	else
		task->done(task);
}

static struct task *running_task(void)
{
	struct task *task = task_current();

	assert(task && "not on a task");
	return task;
}

const char *task_executor_name(void)
{
	return running_task()->executor->ops->name;
}

size_t task_memory_bytes(void)
{
	return running_task()->executor->ops->task_bytes;
}

struct deadline task_deadline(void)
{
	return running_task()->deadline;
}

enum cancel_reason task_cancel_reason(void)
{
	struct task *task = running_task();

	return task->cancel ? cancel_reason(task->cancel) : CANCEL_NONE;
}

int task_park_masked_at(struct wait_site site, struct deadline deadline)
{
	struct task *task = running_task();

	task->site = site;
	if (task->scopes)
		scope_settle_forks(task);
	return task->executor->ops->park(task, deadline);
}

int task_park_at(struct wait_site site, struct deadline deadline)
{
	int error;

	if (task_cancel_reason() != CANCEL_NONE)
		return -ECANCELED;
	error = task_park_masked_at(site, deadline);
	return task_cancel_reason() != CANCEL_NONE ? -ECANCELED : error;
}

int task_park_masked(struct deadline deadline)
{
	return task_park_masked_at((struct wait_site){.kind = WAIT_OTHER}, deadline);
}

int task_park(struct deadline deadline)
{
	return task_park_at((struct wait_site){.kind = WAIT_OTHER}, deadline);
}

void task_wake(struct task *task)
{
	unsigned state =
		atomic_exchange_explicit(&task->permit, PERMIT_NOTED, memory_order_acq_rel);

	if (state == PERMIT_PARKED || state == PERMIT_POLLING)
		task->executor->ops->unpark(task, state);
}

void task_yield(void)
{
	struct task *task = running_task();

	task->executor->ops->yield(task);
}

int task_sleep_until(struct deadline moment)
{
	int error;

	do
		error = task_park_at((struct wait_site){.kind = WAIT_SLEEP}, moment);
	while (error == 0);
	return error == -ETIMEDOUT ? 0 : error;
}
