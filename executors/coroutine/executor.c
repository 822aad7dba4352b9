#include "executors/coroutine/executor.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "executors/coroutine/driver.h"
#include "executors/coroutine/task_dump.h"

/* Tasks of heavy classes beside their carriers: of those that compute, one for each carrier. */
#define BESIDE_MAX 16

/* How long such tasks that have not started wait for room before one gets a carrier all the same.
 */
#define HEAVY_START_NS INT64_C(50000000)

static struct coroutine_executor *of_base(struct executor *executor)
{
	return (struct coroutine_executor *)executor; /* its first member */
}

static unsigned created(struct coroutine_executor *executor)
{
	return atomic_load_explicit(&executor->created, memory_order_acquire);
}

static unsigned tickets(struct coroutine_carrier *carrier)
{
	return atomic_load_explicit(&carrier->queue.tickets, memory_order_relaxed);
}

static int state(struct coroutine_carrier *carrier)
{
	return atomic_load(&carrier->state);
}

static void set_state_locked(struct coroutine_carrier *carrier, enum carrier_state state)
{
	atomic_store(&carrier->state, state);
}

/* ------ placing and finding work */

void coroutine_executor_wake_one(struct coroutine_executor *executor,
                                 const struct coroutine_carrier *except)
{
	unsigned count = atomic_load(&executor->accepting);

	for (unsigned i = 0; i < count; i++) {
		struct coroutine_carrier *carrier = executor->carriers[i];

		if (carrier != except && state(carrier) == CARRIER_ACCEPTING &&
		    coroutine_carrier_wake(carrier))
			return;
	}
}

unsigned coroutine_executor_steal(struct coroutine_executor *executor,
                                  struct coroutine_carrier *carrier, struct task **tasks,
                                  unsigned max, bool only_retired)
{
	const struct run_filter *filter = coroutine_executor_filter(executor);
	unsigned count = created(executor), takers = atomic_load(&executor->accepting);

	for (unsigned i = 1; i < count; i++) {
		struct coroutine_carrier *victim = executor->carriers[(carrier->id + i) % count];
		unsigned got;

		if (!tickets(victim) || (only_retired && state(victim) == CARRIER_ACCEPTING))
			continue;
		got = run_queue_take(&victim->queue, tasks, max, takers, filter);
		if (got == 0)
			continue;
		if (tickets(victim)) /* enough for one more thief */
			coroutine_executor_wake_one(executor, carrier);
		return got;
	}
	return 0;
}

bool coroutine_executor_has_new(struct coroutine_executor *executor)
{
	const struct run_filter *filter = coroutine_executor_filter(executor);
	unsigned count = created(executor);

	for (unsigned i = 0; i < count; i++) {
		struct run_queue *queue = &executor->carriers[i]->queue;

		if (atomic_load(&queue->tickets) && (!filter || run_queue_allows(queue, filter)))
			return true;
	}
	return false;
}

/* ------ tasks of heavy classes */

static unsigned beside_limit(struct coroutine_executor *executor,
                             const struct task_class *task_class)
{
	if (atomic_load_explicit(&task_class->computes, memory_order_relaxed))
		return atomic_load(&executor->accepting);
	return BESIDE_MAX;
}

static bool has_room_beside(struct coroutine_executor *executor,
                            const struct task_class *task_class)
{
	return atomic_load_explicit(&executor->beside, memory_order_relaxed) <
	       beside_limit(executor, task_class);
}

static int64_t look_again_ns(struct coroutine_executor *executor)
{
	return atomic_load_explicit(&executor->heavy_started_ns, memory_order_relaxed) +
	       HEAVY_START_NS;
}

/* One task of a heavy class where there is room beside the carriers, or has been none for long. */
static unsigned filter_allows(const struct run_filter *filter, const struct task *next,
                              unsigned max)
{
	struct coroutine_executor *executor =
		(struct coroutine_executor *)((char *)(uintptr_t)filter -
	                                      offsetof(struct coroutine_executor, filter));
	struct task_class *task_class = task_class_find(&executor->classes, next);

	if (!task_class_is_heavy(task_class))
		return max;
	return has_room_beside(executor, task_class) ||
	       deadline_now_ns() >= look_again_ns(executor);
}

const struct run_filter *coroutine_executor_filter(struct coroutine_executor *executor)
{
	return atomic_load_explicit(&executor->classes.any, memory_order_relaxed)
	               ? &executor->filter
	               : NULL;
}

static bool has_tickets(struct coroutine_executor *executor)
{
	unsigned count = created(executor);

	for (unsigned i = 0; i < count; i++)
		if (tickets(executor->carriers[i]))
			return true;
	return false;
}

struct deadline coroutine_executor_look_again(struct coroutine_executor *executor)
{
	if (!coroutine_executor_filter(executor) || !has_tickets(executor))
		return DEADLINE_NEVER;
	return (struct deadline){look_again_ns(executor)};
}

void coroutine_executor_note_heavy_start(struct coroutine_executor *executor)
{
	atomic_store_explicit(&executor->heavy_started_ns, deadline_now_ns(), memory_order_relaxed);
}

bool coroutine_executor_set_beside(struct coroutine_executor *executor, struct coroutine *coroutine)
{
	struct driver *spare = NULL;

	if (atomic_fetch_add_explicit(&executor->beside, 1, memory_order_relaxed) <
	    beside_limit(executor, coroutine->task_class))
		spare = driver_pool_take(&executor->drivers);
	if (!spare) {
		atomic_fetch_sub_explicit(&executor->beside, 1, memory_order_relaxed);
		return false;
	}
	coroutine->beside_since_ns = deadline_now_ns();
	atomic_store_explicit(&coroutine->is_away, true, memory_order_relaxed);
	driver_give_beside(spare, coroutine);
	return true;
}

void coroutine_executor_end_beside(struct coroutine_executor *executor, struct coroutine *coroutine)
{
	int64_t ran_ns = deadline_now_ns() - coroutine->beside_since_ns;

	if (ran_ns >= executor->monitor.threshold_ns) {
		coroutine->was_pinned = true;
		task_class_note(coroutine->task_class, true);
	}
	atomic_fetch_sub_explicit(&executor->beside, 1, memory_order_relaxed);
}

static unsigned load_of(struct coroutine_carrier *carrier)
{
	return tickets(carrier) + atomic_load_explicit(&carrier->live, memory_order_relaxed);
}

/* The less loaded of two drawn at random: Mitzenmacher, "The power of two choices in randomized
 * load balancing", IEEE TPDS 12(10), 2001. */
static struct coroutine_carrier *place(struct coroutine_executor *executor)
{
	unsigned count = atomic_load(&executor->accepting);
	unsigned draw = atomic_fetch_add_explicit(&executor->placed, 1, memory_order_relaxed) *
	                2654435769u; /* 2^32 / golden ratio: spreads a sequence evenly */
	struct coroutine_carrier *one = executor->carriers[(draw >> 16) % count];
	struct coroutine_carrier *other = executor->carriers[(draw & 0xffff) % count];

	return load_of(one) <= load_of(other) ? one : other;
}

static int coroutine_submit(struct executor *base, struct task *task)
{
	struct coroutine_executor *executor = of_base(base);
	struct coroutine_carrier *carrier = place(executor);

	run_queue_push(&carrier->queue, &task->ticket);
	/* See @accepting: the carrier may have retired since it was chosen, and leave it to others.
	 */
	if (!coroutine_carrier_wake(carrier) || state(carrier) != CARRIER_ACCEPTING)
		coroutine_executor_wake_one(executor, carrier);
	return 0;
}

static struct run_queue *coroutine_queue(struct executor *executor, struct task *parent)
{
	(void)executor;
	return &((struct coroutine *)parent->seat)->carrier->queue;
}

static void coroutine_offer(struct executor *base, struct scope *scope)
{
	struct coroutine_executor *executor = of_base(base);

	run_queue_push(scope->queue, &scope->ticket);
	coroutine_executor_wake_one(executor, NULL);
}

/* ------ carriers come and go */

void coroutine_executor_task_ended(struct coroutine_executor *executor)
{
	unsigned count = created(executor);

	if (!atomic_load(&executor->base.closing) || atomic_load(&executor->base.live))
		return;
	for (unsigned i = 0; i < count; i++)
		(void)coroutine_carrier_wake(executor->carriers[i]);
}

bool coroutine_executor_may_stop(struct coroutine_executor *executor,
                                 struct coroutine_carrier *carrier)
{
	if (atomic_load_explicit(&carrier->live, memory_order_relaxed))
		return false;
	if (atomic_load(&executor->base.closing))
		return atomic_load(&executor->base.live) == 0;
	if (state(carrier) == CARRIER_ACCEPTING)
		return false;
	pthread_mutex_lock(&executor->lock);
	if (state(carrier) == CARRIER_RETIRING)
		set_state_locked(carrier, CARRIER_STOPPING);
	pthread_mutex_unlock(&executor->lock);
	return state(carrier) == CARRIER_STOPPING;
}

void coroutine_executor_stopped(struct coroutine_executor *executor,
                                struct coroutine_carrier *carrier)
{
	pthread_mutex_lock(&executor->lock);
	set_state_locked(carrier, CARRIER_STOPPED);
	pthread_cond_broadcast(&executor->stopped);
	pthread_mutex_unlock(&executor->lock);
}

static int carrier_create_locked(struct coroutine_executor *executor, unsigned id)
{
	int error = coroutine_carrier_create(executor, id, &executor->carriers[id]);

	if (error == 0)
		atomic_store(&executor->created, id + 1);
	return error;
}

static int carrier_accept_locked(struct coroutine_executor *executor, unsigned id)
{
	struct coroutine_carrier *carrier;
	struct driver *driver;
	int error = id == created(executor) ? carrier_create_locked(executor, id) : 0;

	if (error < 0)
		return error;
	carrier = executor->carriers[id];
	while (state(carrier) == CARRIER_STOPPING)
		pthread_cond_wait(&executor->stopped, &executor->lock);
	if (state(carrier) == CARRIER_STOPPED) {
		driver = driver_pool_take(&executor->drivers);
		if (!driver)
			return -EAGAIN;
		set_state_locked(carrier, CARRIER_ACCEPTING);
		driver_give(driver, carrier);
	}
	set_state_locked(carrier, CARRIER_ACCEPTING);
	return 0;
}

static int coroutine_resize(struct executor *base, unsigned carriers)
{
	struct coroutine_executor *executor = of_base(base);
	unsigned accepting = 0;
	int error = 0;

	if (carriers > CARRIERS_MAX)
		return -EINVAL;

	driver_pool_set_max(&executor->drivers, carriers + executor->base.options.spare_drivers);
	pthread_mutex_lock(&executor->lock);
	while (accepting < carriers && error == 0) {
		error = carrier_accept_locked(executor, accepting);
		accepting += error == 0;
	}
	if (accepting)
		atomic_store(&executor->accepting, accepting);
	for (unsigned i = carriers; i < created(executor); i++) {
		struct coroutine_carrier *carrier = executor->carriers[i];

		if (state(carrier) == CARRIER_ACCEPTING)
			set_state_locked(carrier, CARRIER_RETIRING);
		(void)coroutine_carrier_wake(carrier);
	}
	pthread_mutex_unlock(&executor->lock);
	/* Who accepts takes over what the retiring ones had not started. */
	coroutine_executor_wake_one(executor, NULL);
	return error;
}

static void coroutine_stats(struct executor *base, struct executor_stats *out)
{
	struct coroutine_executor *executor = of_base(base);
	unsigned count = created(executor), started = 0;

	for (unsigned i = 0; i < count; i++) {
		struct coroutine_carrier *carrier = executor->carriers[i];

		started += atomic_load_explicit(&carrier->live, memory_order_relaxed);
		out->parked += atomic_load_explicit(&carrier->parked, memory_order_relaxed);
		out->queued += tickets(carrier);
		out->carriers += state(carrier) == CARRIER_ACCEPTING;
	}
	out->drivers = driver_pool_count(&executor->drivers);
	out->threads = out->drivers + 1; /* the monitor */
	pinned_events_counts(&executor->monitor.events, out->pinned);
	out->running = started > out->parked ? started - out->parked : 0;
	stack_pool_stats(&executor->stacks, out);
}

static unsigned coroutine_pinned_events(struct executor *base, uint64_t *next,
                                        struct pinned_event *out, unsigned max)
{
	return pinned_events_read(&of_base(base)->monitor.events, next, out, max);
}

static bool coroutine_pinned_stack(struct executor *base, uint64_t number,
                                   struct stack_snapshot *out)
{
	return pinned_events_read_stack(&of_base(base)->monitor.events, number, out);
}

static void coroutine_destroy(struct executor *base)
{
	struct coroutine_executor *executor = of_base(base);
	unsigned count = created(executor);

	coroutine_executor_task_ended(executor); /* there may be none, and all are asleep */
	pthread_mutex_lock(&executor->lock);
	for (unsigned i = 0; i < count; i++)
		while (state(executor->carriers[i]) != CARRIER_STOPPED)
			pthread_cond_wait(&executor->stopped, &executor->lock);
	pthread_mutex_unlock(&executor->lock);
	monitor_stop(&executor->monitor);
	driver_pool_finish(&executor->drivers);
	for (unsigned i = 0; i < count; i++)
		coroutine_carrier_destroy(executor->carriers[i]);
	stack_pool_finish(&executor->stacks);
	pthread_cond_destroy(&executor->stopped);
	pthread_mutex_destroy(&executor->lock);
	pthread_mutex_destroy(&executor->dump_lock);
	free(executor);
}

static int coroutine_create(const struct executor_options *options, struct executor **out)
{
	struct stack_pool_options stacks = {
		.slot_bytes = options->stack_bytes * STACK_SCALE,
		.guard = options->stack_guard,
	};
	struct coroutine_executor *executor;
	int error;

	if (options->pinned_threshold_ms == 0)
		return -EINVAL;
	executor = calloc(1, sizeof(*executor));
	if (!executor)
		return -ENOMEM;
	error = stack_pool_init(&executor->stacks, &stacks);
	if (error < 0) {
		free(executor);
		return error;
	}
	executor_init(&executor->base, &coroutine_executor_ops, options);
	executor->dump_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	executor->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	executor->stopped = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	driver_pool_init(&executor->drivers);
	executor->filter.allows = filter_allows;
	error = coroutine_resize(&executor->base, options->threads);
	if (error == 0)
		error = monitor_start(&executor->monitor, executor,
		                      options->pinned_threshold_ms * INT64_C(1000000));
	if (error < 0) {
		executor_destroy(&executor->base);
		return error;
	}
	*out = &executor->base;
	return 0;
}

const struct executor_ops coroutine_executor_ops = {
	.name = "coroutine",
	.task_bytes = 8192, /* two pages of its stack; most touch one */
	.create = coroutine_create,
	.submit = coroutine_submit,
	.queue = coroutine_queue,
	.offer = coroutine_offer,
	.run_here = NULL, /* a parked parent keeps no thread from its children */
	.park = coroutine_park,
	.unpark = coroutine_unpark,
	.yield = coroutine_yield,
	.carrier = coroutine_current_carrier,
	.resize = coroutine_resize,
	.stats = coroutine_stats,
	.pinned_events = coroutine_pinned_events,
	.pinned_stack = coroutine_pinned_stack,
	.dump_tasks = coroutine_dump_tasks,
	.destroy = coroutine_destroy,
};
