#include "executors/once.h"

void task_once_init(struct task_once *once)
{
	task_mutex_init(&once->mutex);
	atomic_init(&once->is_done, false);
}

void task_once_finish(struct task_once *once)
{
	task_mutex_finish(&once->mutex);
}

static int run_unless_done(struct task_once *once, int (*fn)(void *arg), void *arg)
{
	int error;

	/* Written under the mutex, which we hold. */
	if (atomic_load_explicit(&once->is_done, memory_order_relaxed))
		return 0;
	error = fn(arg);
	if (error == 0)
		atomic_store_explicit(&once->is_done, true, memory_order_release);
	return error;
}

int task_once_run(struct task_once *once, int (*fn)(void *arg), void *arg, struct deadline deadline)
{
	struct wait_site site = {.kind = WAIT_ONCE, .object = &once->mutex};
	int error;

	if (atomic_load_explicit(&once->is_done, memory_order_acquire))
		return 0;
	error = task_mutex_lock_at(&once->mutex, site, deadline);
	if (error < 0)
		return error;
	error = run_unless_done(once, fn, arg);
	task_mutex_unlock(&once->mutex);
	return error;
}
