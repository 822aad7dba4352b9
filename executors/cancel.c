#include "executors/cancel.h"

#include <assert.h>
#include <stddef.h>

static void cancel_by_parent(struct cancel_watch *watch)
{
	struct cancel *cancel = (struct cancel *)((char *)watch - offsetof(struct cancel, watch));

	cancel_fire(cancel, cancel_reason(cancel->parent));
}

void cancel_init(struct cancel *cancel, struct cancel *parent)
{
	*cancel = (struct cancel){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.parent = parent,
		.watch.notify = cancel_by_parent,
	};
	if (parent)
		cancel_watch_add(parent, &cancel->watch);
}

void cancel_finish(struct cancel *cancel)
{
	if (cancel->parent)
		cancel_watch_remove(cancel->parent, &cancel->watch);
	assert(!cancel->watches);
	pthread_mutex_destroy(&cancel->lock);
}

void cancel_fire(struct cancel *cancel, enum cancel_reason reason)
{
	pthread_mutex_lock(&cancel->lock);
	cancel_fire_locked(cancel, reason);
	pthread_mutex_unlock(&cancel->lock);
}

void cancel_fire_locked(struct cancel *cancel, enum cancel_reason reason)
{
	assert(reason != CANCEL_NONE);
	if (cancel_reason(cancel) != CANCEL_NONE)
		return;
	atomic_store_explicit(&cancel->reason, reason, memory_order_release);
	for (struct cancel_watch *watch = cancel->watches; watch; watch = watch->next)
		watch->notify(watch);
}

void cancel_watch_add_locked(struct cancel *cancel, struct cancel_watch *watch)
{
	assert(!watch->previous);
	watch->next = cancel->watches;
	if (watch->next)
		watch->next->previous = &watch->next;
	cancel->watches = watch;
	watch->previous = &cancel->watches;
	if (cancel_reason(cancel) != CANCEL_NONE)
		watch->notify(watch);
}

void cancel_watch_add(struct cancel *cancel, struct cancel_watch *watch)
{
	pthread_mutex_lock(&cancel->lock);
	cancel_watch_add_locked(cancel, watch);
	pthread_mutex_unlock(&cancel->lock);
}

void cancel_watch_remove_locked(struct cancel *cancel, struct cancel_watch *watch)
{
	(void)cancel;
	if (!watch->previous)
		return;
	*watch->previous = watch->next;
	if (watch->next)
		watch->next->previous = watch->previous;
	watch->previous = NULL;
}

void cancel_watch_remove(struct cancel *cancel, struct cancel_watch *watch)
{
	pthread_mutex_lock(&cancel->lock);
	cancel_watch_remove_locked(cancel, watch);
	pthread_mutex_unlock(&cancel->lock);
}

const char *cancel_reason_name(enum cancel_reason reason)
{
	static const char *const names[] = {
		[CANCEL_NONE] = "none",
		[CANCEL_CLIENT_GONE] = "client gone",
		[CANCEL_DEADLINE] = "deadline",
		[CANCEL_SHUTDOWN] = "shutdown",
		[CANCEL_SIBLING_DONE] = "sibling done",
		[CANCEL_OVERLOAD] = "overload",
	};

	return names[reason];
}
