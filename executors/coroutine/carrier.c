#include "executors/coroutine/carrier.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "executors/coroutine/driver.h"
#include "executors/coroutine/executor.h"
#include "executors/coroutine/heavy.h"
#include "executors/coroutine/task_dump.h"
#include "executors/coroutine/task_life.h"
#include "executors/coroutine/turn.h"
#include "executors/epoll_wait_until.h"

static struct coroutine_carrier *of_base(struct carrier *carrier)
{
	return (struct coroutine_carrier *)carrier; /* its first member */
}

/* ------ waking */

bool coroutine_carrier_wake(struct coroutine_carrier *carrier)
{
	uint64_t one = 1;

	if (!atomic_load(&carrier->sleeping) || !atomic_exchange(&carrier->sleeping, false))
		return false;
	/* Can fail only with a counter of 2^64 - 2, and then the event is there already. */
	(void)!write(carrier->event_fd, &one, sizeof(one));
	return true;
}

void coroutine_unpark(struct task *task, unsigned state)
{
	struct coroutine *coroutine = task->seat;
	struct coroutine_carrier *carrier = coroutine->carrier;

	(void)state;
	if (driver_owns(carrier))
		turn_push(carrier, coroutine);
	else
		turn_push_from_elsewhere(carrier, coroutine);
}

static void park_timed_out(struct timer *timer)
{
	struct coroutine *coroutine =
		(struct coroutine *)((char *)timer - offsetof(struct coroutine, timeout));

	if (atomic_exchange_explicit(&coroutine->task->permit, PERMIT_NOTED,
	                             memory_order_acq_rel) != PERMIT_PARKED)
		return; /* woken meanwhile */
	coroutine->timed_out = true;
	turn_push(coroutine->carrier, coroutine);
}

/* ------ the loop, on the driver's own stack */

/* On the driver's own stack, which never changes its pthread: so thread-locals are no danger. */
static void driver_switch_to(struct driver *driver, struct coroutine *coroutine)
{
	driver->on_task = true;
	fiber_switch(&driver->native, &coroutine->fiber);
	task_of_thread = NULL;
	driver->on_task = false;
}

static void carrier_switch_to(struct coroutine_carrier *carrier, struct driver *driver,
                              struct coroutine *coroutine)
{
	turn_switches_to(carrier, driver, coroutine);
	driver_switch_to(driver, coroutine);
}

/* Have @coroutine go on, and others after it; do what the one wants done that leaves its stack for
 * ours. False: @carrier was given to another driver meanwhile, and must not be touched. */
static bool carrier_resume(struct coroutine_carrier *carrier, struct driver *driver,
                           struct coroutine *coroutine)
{
	carrier_switch_to(carrier, driver, coroutine);
	while (driver->after == AFTER_CALL) {
		coroutine = driver->left;
		coroutine->call(&carrier->base, coroutine->call_arg);
		carrier_switch_to(carrier, driver, coroutine);
	}
	coroutine = driver->left;
	switch (driver->after) {
	case AFTER_WAIT:
	case AFTER_CALL:
		break;
	case AFTER_EXIT:
		task_life_finish(coroutine);
		break;
	case AFTER_HEAVY:
		if (!coroutine_executor_set_beside(carrier->executor, coroutine))
			heavy_push(carrier, coroutine);
		break;
	case AFTER_LOST:
		/* Only here, where its stack has been left, may another pthread resume it. */
		driver->carrier = NULL;
		coroutine->was_pinned = true;
		monitor_notice_rejoin(&carrier->executor->monitor, coroutine);
		atomic_store_explicit(&coroutine->is_away, false, memory_order_release);
		turn_push_from_elsewhere(carrier, coroutine);
		return false;
	}
	return true;
}

void coroutine_run_beside(struct coroutine *coroutine, struct driver *driver)
{
	struct coroutine_carrier *carrier = coroutine->carrier;

	coroutine->is_beside = true;
	task_of_thread = coroutine->task;
	driver_switch_to(driver, coroutine);
	coroutine->is_beside = false;
	assert(driver->after == AFTER_LOST); /* its first claim fails */
	coroutine_executor_end_beside(carrier->executor, coroutine);
	atomic_store_explicit(&coroutine->is_away, false, memory_order_release);
	turn_push_from_elsewhere(carrier, coroutine);
}

/* Started tasks come before new ones. NULL: there is nothing to run, or no stack for it. */
static struct coroutine *carrier_next(struct coroutine_carrier *carrier)
{
	struct coroutine *coroutine = turn_next(carrier);

	if (coroutine)
		return coroutine;
	if (task_life_take_new(carrier, true))
		return task_life_start(carrier);
	if (carrier->heavy)
		heavy_serve(carrier, true);
	return turn_next(carrier);
}

/* One new task gets its chance in every turn. False as carrier_resume(). */
static bool carrier_run_tasks(struct coroutine_carrier *carrier, struct driver *driver)
{
	struct coroutine *coroutine;

	turn_begin(carrier);
	if (carrier->heavy)
		heavy_serve(carrier, false);
	if (carrier->ready && task_life_take_new(carrier, false)) {
		coroutine = task_life_start(carrier);
		if (coroutine)
			turn_push(carrier, coroutine);
	}
	while (!turn_is_over(carrier)) {
		coroutine = carrier_next(carrier);
		if (!coroutine)
			return true;
		if (!carrier_resume(carrier, driver, coroutine))
			return false;
	}
	return true;
}

static bool carrier_has_work(struct coroutine_carrier *carrier)
{
	bool accepting = atomic_load(&carrier->state) == CARRIER_ACCEPTING;

	return carrier->ready || task_life_has_new(carrier) || carrier->heavy ||
	       atomic_load(&carrier->inbox) || atomic_load(&carrier->dump) ||
	       (accepting && coroutine_executor_has_new(carrier->executor));
}

static void carrier_dispatch(struct coroutine_carrier *carrier)
{
	for (carrier->event_next = 0; carrier->event_next < carrier->event_count;) {
		struct epoll_event *event = &carrier->events[carrier->event_next++];
		struct carrier_fd *watch = event->data.ptr;

		if (watch) /* unwatched by an earlier one of this batch otherwise */
			watch->ready(watch, event->events);
	}
	carrier->event_count = 0;
}

static struct deadline carrier_next_moment(struct coroutine_carrier *carrier)
{
	const struct timer *timeout = timer_heap_first(&carrier->timeouts);
	struct deadline timer = carrier_next_timer(&carrier->base);

	return timeout && timeout->when_ns < timer.ns ? (struct deadline){timeout->when_ns} : timer;
}

static void carrier_run_due(struct coroutine_carrier *carrier)
{
	struct timer *timeout = timer_heap_first(&carrier->timeouts);
	int64_t now_ns;

	if (!timeout && !carrier->base.timers.count)
		return;
	now_ns = deadline_now_ns();
	for (; timeout && timeout->when_ns <= now_ns;
	     timeout = timer_heap_first(&carrier->timeouts)) {
		timer_heap_remove(&carrier->timeouts, timeout);
		park_timed_out(timeout);
	}
	carrier_fire_timers(&carrier->base, now_ns);
}

/* Look at the poller; wait there if there is nothing to do. */
static void carrier_poll(struct coroutine_carrier *carrier)
{
	struct deadline until = (struct deadline){0};
	bool was_idle = !carrier->ready && !task_life_has_new(carrier);

	if (was_idle) {
		atomic_store(&carrier->sleeping, true);
		if (!carrier_has_work(carrier) &&
		    !coroutine_executor_may_stop(carrier->executor, carrier))
			until = deadline_earlier(carrier_next_moment(carrier),
			                         coroutine_executor_look_again(carrier->executor));
	}
	carrier->event_count =
		epoll_wait_until(carrier->epoll_fd, carrier->events, CARRIER_EVENTS, until);
	if (was_idle) {
		/* Sequentially consistent, and the monitor is looked at next: see monitor.c. */
		atomic_store(&carrier->sleeping, false);
		monitor_notice_work(&carrier->executor->monitor);
	}
	carrier_dispatch(carrier);
	carrier_run_due(carrier);
}

static void event_fd_written(struct carrier_fd *watch, uint32_t events)
{
	(void)watch;
	(void)events;
}

/* What is reported of @watch, and has not been passed on. */
static void carrier_drop_events(struct coroutine_carrier *carrier, const struct carrier_fd *watch)
{
	for (int i = carrier->event_next; i < carrier->event_count; i++)
		if (carrier->events[i].data.ptr == watch)
			carrier->events[i].data.ptr = NULL;
}

static int carrier_op_watch(struct carrier *base, struct carrier_fd *watch, uint32_t events)
{
	struct coroutine_carrier *carrier = of_base(base);
	struct epoll_event event = {.events = events, .data.ptr = watch};
	int operation = !events ? EPOLL_CTL_DEL : watch->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (events == watch->events)
		return 0;
	if (epoll_ctl(carrier->epoll_fd, operation, watch->fd, &event) < 0 && events)
		return -errno;
	watch->events = events;
	if (!events)
		carrier_drop_events(carrier, watch);
	return 0;
}

/* The kernel lets any thread do so. What it has reported before is in the carrier's hands. */
static void carrier_op_take_away(struct carrier *base, const struct carrier_fd *watch)
{
	(void)epoll_ctl(of_base(base)->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
}

/* The fd may be another one by now, and watched: the poller is left alone. */
static void carrier_op_forget(struct carrier *base, struct carrier_fd *watch)
{
	watch->events = 0;
	carrier_drop_events(of_base(base), watch);
}

static void carrier_op_arm(struct carrier *base, struct carrier_fd *watch, uint32_t events)
{
	(void)base;
	(void)watch;
	(void)events;
}

static uint32_t carrier_op_look(struct carrier *base, const struct carrier_fd *watch)
{
	(void)base;
	(void)watch;
	return 0;
}

static int64_t carrier_op_now_ns(struct carrier *base)
{
	return of_base(base)->now_ns;
}

static const struct carrier_ops coroutine_carrier_ops = {
	.call = coroutine_call,
	.call_small = coroutine_call_small,
	.watch = carrier_op_watch,
	.arm = carrier_op_arm,
	.look = carrier_op_look,
	.now_ns = carrier_op_now_ns,
	.take_away = carrier_op_take_away,
	.forget = carrier_op_forget,
};

static void carrier_close(struct coroutine_carrier *carrier)
{
	coroutine_dump_slice(carrier);
	carrier_finish(&carrier->base);
	carrier_init(&carrier->base, &coroutine_carrier_ops);
	stack_cache_empty(&carrier->stacks);
	coroutine_executor_stopped(carrier->executor, carrier);
}

void coroutine_carrier_drive(struct coroutine_carrier *carrier, struct driver *driver)
{
	atomic_store_explicit(&carrier->driver, driver, memory_order_relaxed);
	atomic_store_explicit(&carrier->driver_tid, driver->tid, memory_order_relaxed);
	atomic_store_explicit(&carrier->driver_clock, driver->clock, memory_order_relaxed);
	carrier->batch = 1;
	while (!coroutine_executor_may_stop(carrier->executor, carrier)) {
		/* The poller first: a driver that takes over comes from a turn that was cut off,
		 * and timers must not wait for the tasks that cut off the next. */
		carrier_poll(carrier);
		if (atomic_load_explicit(&carrier->dump, memory_order_relaxed))
			coroutine_dump_slice(carrier);
		if (!carrier_run_tasks(carrier, driver))
			return;
		if (carrier->batch < CARRIER_NEW_TASKS)
			carrier->batch++;
	}
	driver->carrier = NULL;
	carrier_close(carrier);
}

int coroutine_carrier_create(struct coroutine_executor *executor, unsigned id,
                             struct coroutine_carrier **out)
{
	struct coroutine_carrier *carrier = calloc(1, sizeof(*carrier));
	int error;

	if (!carrier)
		return -ENOMEM;
	carrier->executor = executor;
	carrier->id = id;
	carrier->ready_last = &carrier->ready;
	carrier->heavy_last = &carrier->heavy;
	carrier->event_fd = -1;
	stack_cache_init(&carrier->stacks, &executor->stacks);
	live_list_init(&carrier->coroutines);
	carrier_init(&carrier->base, &coroutine_carrier_ops);
	run_queue_init(&carrier->queue);
	atomic_init(&carrier->word, WORD_SEQUENCE);
	atomic_init(&carrier->state, CARRIER_STOPPED);
	error = -ENOMEM;
	carrier->epoll_fd = -1;
	carrier->events = calloc(CARRIER_EVENTS, sizeof(*carrier->events));
	if (!carrier->events)
		goto fail;
	carrier->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (carrier->epoll_fd < 0)
		goto fail_errno;
	carrier->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (carrier->event_fd < 0)
		goto fail_errno;
	carrier->wake_up = (struct carrier_fd){.fd = carrier->event_fd, .ready = event_fd_written};
	error = carrier_op_watch(&carrier->base, &carrier->wake_up, EPOLLIN | EPOLLET);
	if (error < 0)
		goto fail;
	*out = carrier;
	return 0;
fail_errno:
	error = -errno;
fail:
	coroutine_carrier_destroy(carrier);
	return error;
}

void coroutine_carrier_destroy(struct coroutine_carrier *carrier)
{
	if (!carrier)
		return;
	carrier_finish(&carrier->base);
	timer_heap_finish(&carrier->timeouts);
	run_queue_finish(&carrier->queue);
	if (carrier->event_fd >= 0)
		(void)close(carrier->event_fd);
	if (carrier->epoll_fd >= 0)
		(void)close(carrier->epoll_fd);
	free(carrier->events);
	free(carrier);
}
