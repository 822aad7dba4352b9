#include "executors/coroutine/carrier.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "executors/coroutine/driver.h"
#include "executors/coroutine/executor.h"
#include "executors/coroutine/overflow.h"
#include "executors/coroutine/task_class.h"
#include "executors/coroutine/task_dump.h"
#include "executors/coroutine/turn.h"
#include "executors/epoll_wait_until.h"

/* How long a task of a heavy class waits for room beside its carrier while others are ready. */
#define HEAVY_WAIT_NS INT64_C(50000000)

static struct coroutine_carrier *of_base(struct carrier *carrier)
{
	return (struct coroutine_carrier *)carrier; /* its first member */
}

/* ------ waking */

static void heavy_push(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	if (!carrier->heavy)
		carrier->heavy_since_ns = deadline_now_ns();
	coroutine->next = NULL;
	*carrier->heavy_last = coroutine;
	carrier->heavy_last = &coroutine->next;
}

static struct coroutine *heavy_pop(struct coroutine_carrier *carrier)
{
	struct coroutine *coroutine = carrier->heavy;

	carrier->heavy = coroutine->next;
	if (!carrier->heavy)
		carrier->heavy_last = &carrier->heavy;
	return coroutine;
}

static void heavy_put_back(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	coroutine->next = carrier->heavy;
	carrier->heavy = coroutine;
	if (!coroutine->next)
		carrier->heavy_last = &coroutine->next;
}

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

/* ------ starting */

static struct coroutine *coroutine_get(struct coroutine_carrier *carrier)
{
	struct stack *stack = stack_cache_get(&carrier->stacks);
	struct coroutine *coroutine;

	if (!stack)
		return NULL;
	coroutine = (struct coroutine *)stack - 1;
	coroutine->stack = stack;
	return coroutine;
}

static void coroutine_put(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	struct stack *stack = coroutine->stack;

	live_list_remove(&carrier->coroutines, coroutine);
	fiber_finish(&coroutine->fiber);
	stack_cache_put(&carrier->stacks, stack);
}

static void coroutine_set_task(struct coroutine *coroutine, struct task *task)
{
	struct coroutine_executor *executor = coroutine->carrier->executor;

	atomic_store_explicit(&coroutine->name, task->name, memory_order_relaxed);
	atomic_store_explicit(&coroutine->id, task, memory_order_relaxed);
	coroutine->started_ns = coroutine->carrier->now_ns;
	coroutine->task = task;
	coroutine->task_class = task_class_find(&executor->classes, task);
	coroutine->was_pinned = false;
	if (task_class_is_heavy(coroutine->task_class))
		coroutine_executor_note_heavy_start(executor);
	task_begin(task, coroutine);
}

static void coroutine_prepare(struct coroutine_carrier *carrier, struct coroutine *coroutine)
{
	struct stack *stack = coroutine->stack;
	uintptr_t top = (uintptr_t)coroutine & ~(uintptr_t)63;

	/* One by one: what others may read of the one that was here before is atomic. */
	atomic_store_explicit(&coroutine->is_away, false, memory_order_relaxed);
	coroutine->carrier = carrier;
	coroutine->timeout = (struct timer){0};
	coroutine->parked = false;
	coroutine->is_beside = false;
	live_list_add(&carrier->coroutines, coroutine);
	fiber_init(&coroutine->fiber, stack->low, top - (uintptr_t)stack->low, coroutine_main);
}

static void set_live(struct coroutine_carrier *carrier, int change)
{
	unsigned live = atomic_load_explicit(&carrier->live, memory_order_relaxed);

	atomic_store_explicit(&carrier->live, live + (unsigned)change, memory_order_relaxed);
}

static void end_task(struct coroutine_carrier *carrier, struct task *task, int result)
{
	set_live(carrier, -1);
	task_end(task, result);
	coroutine_executor_task_ended(carrier->executor);
}

/* Give the next new task a stack. NULL: there is no such task, or no stack for it. */
static struct coroutine *carrier_start(struct coroutine_carrier *carrier)
{
	unsigned live = atomic_load_explicit(&carrier->live, memory_order_relaxed);
	struct task *task = turn_next_new(carrier);
	struct coroutine *coroutine = NULL;

	if (!task)
		return NULL;
	if (timer_heap_reserve(&carrier->timeouts, live) == 0)
		coroutine = coroutine_get(carrier);
	if (!coroutine) {
		end_task(carrier, task, -EAGAIN);
		return NULL;
	}
	coroutine_prepare(carrier, coroutine);
	coroutine_set_task(coroutine, task);
	return coroutine;
}

static void coroutine_end_task(struct coroutine *coroutine, int result)
{
	struct coroutine_carrier *carrier = coroutine->carrier;
	struct task *task = coroutine->task;

	if (coroutine->task_class && !coroutine->was_pinned)
		task_class_note(coroutine->task_class, false);
	if (!stack_is_intact(carrier->stacks.pool, coroutine->stack))
		overflow_abort(task->name, carrier->stacks.pool->slot_bytes);
	coroutine->task = NULL;
	end_task(carrier, task, result);
}

static bool carrier_has_new(const struct coroutine_carrier *carrier)
{
	return carrier->new_next < carrier->new_count;
}

/* Have something new at hand that waits in our queue or, every other time, in that of a retired
 * carrier. If there is nothing and @steal, in anybody's. */
static bool carrier_take_new(struct coroutine_carrier *carrier, bool steal)
{
	struct coroutine_executor *executor = carrier->executor;
	const struct run_filter *filter = coroutine_executor_filter(executor);
	unsigned count = 0, queued;

	if (carrier_has_new(carrier))
		return true;
	if (atomic_load(&carrier->state) != CARRIER_ACCEPTING)
		return false;
	if (carrier->turn++ % 2)
		count = coroutine_executor_steal(executor, carrier, carrier->new_tasks, 1, true);
	queued = atomic_load_explicit(&carrier->queue.tickets, memory_order_relaxed);
	/* With others in the queue it is one at a time, for the sake of fairness. */
	if (count == 0 && queued)
		count = run_queue_take(&carrier->queue, carrier->new_tasks,
		                       queued == 1 ? carrier->batch : 1,
		                       atomic_load(&executor->accepting), filter);
	if (count == 0 && steal)
		count = coroutine_executor_steal(executor, carrier, carrier->new_tasks,
		                                 carrier->batch, false);
	carrier->new_next = 0;
	carrier->new_count = count;
	set_live(carrier, (int)count);
	return count > 0;
}

bool coroutine_carrier_replace_task(struct coroutine *coroutine, int result)
{
	struct coroutine_carrier *carrier = coroutine->carrier;
	struct driver *driver = atomic_load_explicit(&carrier->driver, memory_order_relaxed);

	coroutine->result = result;
	if (!coroutine->task->scope)
		return false; /* its done() may need more of a stack than this */
	driver->on_task = false;
	*driver->task_of_thread = NULL; /* whose memory its owner has from the report on */
	coroutine_end_task(coroutine, result);
	driver->on_task = true;
	if (turn_is_over(carrier) || turn_has_next(carrier) || !carrier_take_new(carrier, false))
		return false;
	live_list_move_to_end(&carrier->coroutines, coroutine);
	coroutine_set_task(coroutine, turn_next_new(carrier));
	turn_switches_to(carrier, driver, coroutine);
	return true;
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
		if (coroutine->task)
			coroutine_end_task(coroutine, coroutine->result);
		coroutine_put(carrier, coroutine);
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

/* Let those that wait go on beside the carrier, as far as there is room; one goes on upon it if
 * nothing else is ready, or if it has waited for long. */
static void carrier_serve_heavy(struct coroutine_carrier *carrier, bool is_idle)
{
	int64_t now_ns = deadline_now_ns();

	while (carrier->heavy) {
		/* Out of the list first: it may be back in the inbox before this returns. */
		struct coroutine *coroutine = heavy_pop(carrier);

		if (coroutine_executor_set_beside(carrier->executor, coroutine))
			continue;
		if (!is_idle && now_ns - carrier->heavy_since_ns < HEAVY_WAIT_NS) {
			heavy_put_back(carrier, coroutine);
			return;
		}
		carrier->heavy_since_ns = now_ns;
		turn_push(carrier, coroutine);
		return;
	}
}

/* Started tasks come before new ones. NULL: there is nothing to run, or no stack for it. */
static struct coroutine *carrier_next(struct coroutine_carrier *carrier)
{
	struct coroutine *coroutine = turn_next(carrier);

	if (coroutine)
		return coroutine;
	if (carrier_take_new(carrier, true))
		return carrier_start(carrier);
	if (carrier->heavy)
		carrier_serve_heavy(carrier, true);
	return turn_next(carrier);
}

/* One new task gets its chance in every turn. False as carrier_resume(). */
static bool carrier_run_tasks(struct coroutine_carrier *carrier, struct driver *driver)
{
	struct coroutine *coroutine;

	turn_begin(carrier);
	if (carrier->heavy)
		carrier_serve_heavy(carrier, false);
	if (carrier->ready && carrier_take_new(carrier, false)) {
		coroutine = carrier_start(carrier);
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

	return carrier->ready || carrier_has_new(carrier) || carrier->heavy ||
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
	bool was_idle = !carrier->ready && !carrier_has_new(carrier);

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
	for (int i = carrier->event_next; !events && i < carrier->event_count; i++)
		if (carrier->events[i].data.ptr == watch)
			carrier->events[i].data.ptr = NULL;
	return 0;
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
