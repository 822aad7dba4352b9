#include "executors/carrier.h"

#include <assert.h>
#include <stddef.h>

#include "executors/carrier_ops.h"
#include "executors/executor_ops.h"

struct carrier *carrier_current(void)
{
	struct task *task = task_current();

	assert(task);
	return task->executor->ops->carrier(task);
}

void carrier_call(void (*fn)(struct carrier *carrier, void *arg), void *arg)
{
	struct carrier *carrier = carrier_current();

	carrier->ops->call(carrier, task_current(), fn, arg);
}

void carrier_call_small(void (*fn)(struct carrier *carrier, void *arg), void *arg)
{
	struct carrier *carrier = carrier_current();

	carrier->ops->call_small(carrier, task_current(), fn, arg);
}

int64_t carrier_now_ns(struct carrier *carrier)
{
	return carrier->ops->now_ns(carrier);
}

struct carrier_service *carrier_service_find(struct carrier *carrier, const void *key)
{
	struct carrier_service *service = carrier->services;

	while (service && service->key != key)
		service = service->next;
	return service;
}

void carrier_service_add(struct carrier *carrier, struct carrier_service *service)
{
	assert(service->key && service->stop);
	service->next = carrier->services;
	carrier->services = service;
}

int carrier_watch(struct carrier *carrier, struct carrier_fd *watch, uint32_t events)
{
	return carrier->ops->watch(carrier, watch, events);
}

int carrier_watch_edges(struct carrier *carrier, struct carrier_fd *watch)
{
	return carrier->ops->watch(carrier, watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

bool carrier_can_take_away(const struct carrier *carrier)
{
	return carrier->ops->take_away;
}

void carrier_take_away(struct carrier *carrier, const struct carrier_fd *watch)
{
	carrier->ops->take_away(carrier, watch);
}

void carrier_forget(struct carrier *carrier, struct carrier_fd *watch)
{
	carrier->ops->forget(carrier, watch);
}

int carrier_set_timer(struct carrier *carrier, struct carrier_timer *timer, struct deadline moment)
{
	timer_heap_remove(&carrier->timers, &timer->timer);
	if (moment.ns == DEADLINE_NEVER.ns)
		return 0;
	timer->timer.when_ns = moment.ns;
	return timer_heap_add(&carrier->timers, &timer->timer);
}

void carrier_init(struct carrier *carrier, const struct carrier_ops *ops)
{
	*carrier = (struct carrier){.ops = ops};
	timer_heap_init(&carrier->timers);
}

void carrier_finish(struct carrier *carrier)
{
	struct carrier_service *service;

	while ((service = carrier->services)) {
		carrier->services = service->next;
		service->stop(service);
	}
	timer_heap_finish(&carrier->timers);
}

void carrier_fire_timers(struct carrier *carrier, int64_t now_ns)
{
	/* Bounded by the count at the start: one that is set again and again does not keep us. */
	for (unsigned left = carrier->timers.count; left > 0; left--) {
		struct timer *first = timer_heap_first(&carrier->timers);
		struct carrier_timer *timer;

		if (!first || first->when_ns > now_ns)
			return;
		timer = (struct carrier_timer *)((char *)first -
		                                 offsetof(struct carrier_timer, timer));
		timer_heap_remove(&carrier->timers, first);
		timer->fire(timer);
	}
}

struct deadline carrier_next_timer(struct carrier *carrier)
{
	struct timer *first = timer_heap_first(&carrier->timers);

	return first ? (struct deadline){first->when_ns} : DEADLINE_NEVER;
}
