#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "executors/executor_ops.h"
#include "executors/pthread_carrier.h"

/*
 * A fixed number of pthreads that serve one run queue, a task at a time.
 *
 * A pusher first counts its ticket, then looks for idle threads; a thread first
 * counts itself idle, then looks for tickets. Both counts are sequentially
 * consistent, so one of the two sees the other and no ticket is left lying
 * while a thread sleeps. A push wakes one thread, which wakes the next if it
 * leaves tickets behind.
 */
struct pool_executor {
	struct executor executor;
	struct run_queue queue;
	struct pthread_seats seats;
	atomic_uint started; /* tasks that run or are parked; relaxed: of its own order alone is
	                        made use, in pool_has_free_thread() */

	pthread_mutex_t lock;
	pthread_cond_t work; /* @wakes has grown, or the last task has ended */
	atomic_uint idle;    /* written under lock; threads waiting to which no wake was given */
	unsigned wakes;      /* lock; given, and not yet taken by a thread */

	unsigned count; /* constant once created */
	pthread_t threads[];
};

static void wake_one(struct pool_executor *pool)
{
	unsigned idle;

	if (atomic_load(&pool->idle) == 0)
		return;
	pthread_mutex_lock(&pool->lock);
	idle = atomic_load(&pool->idle);
	if (idle > 0) {
		atomic_store(&pool->idle, idle - 1);
		pool->wakes++;
		pthread_cond_signal(&pool->work);
	}
	pthread_mutex_unlock(&pool->lock);
}

static bool is_over(struct pool_executor *pool)
{
	return atomic_load(&pool->executor.closing) && atomic_load(&pool->executor.live) == 0;
}

static int wait_locked(struct pool_executor *pool, struct deadline until)
{
	struct timespec moment = {.tv_sec = until.ns / 1000000000,
	                          .tv_nsec = until.ns % 1000000000};

	if (until.ns == DEADLINE_NEVER.ns)
		return pthread_cond_wait(&pool->work, &pool->lock);
	return pthread_cond_clockwait(&pool->work, &pool->lock, CLOCK_MONOTONIC, &moment);
}

/* Wait until there may be tickets, or a timer of the thread is due, which is served. False: there
 * will be no tickets any more. */
static bool wait_for_work(struct pool_executor *pool, struct pthread_carrier *carrier)
{
	struct deadline until = carrier_next_timer(&carrier->carrier);
	bool may_be_more, is_due = false;

	pthread_mutex_lock(&pool->lock);
	atomic_fetch_add(&pool->idle, 1);
	if (atomic_load(&pool->queue.tickets) > 0) {
		atomic_fetch_sub(&pool->idle, 1);
		pthread_mutex_unlock(&pool->lock);
		return true;
	}
	while (pool->wakes == 0 && !is_due && !is_over(pool))
		is_due = wait_locked(pool, until) == ETIMEDOUT;
	may_be_more = pool->wakes > 0 || !is_over(pool);
	if (pool->wakes > 0)
		pool->wakes--;
	else
		atomic_fetch_sub(&pool->idle, 1);
	if (!may_be_more)
		pthread_cond_broadcast(&pool->work); /* the others wait for the same */
	pthread_mutex_unlock(&pool->lock);
	pthread_carrier_serve_timers(carrier);
	return may_be_more;
}

static void run_task(struct pool_executor *pool, struct pthread_carrier *carrier, struct task *task)
{
	int result;

	atomic_fetch_add_explicit(&pool->started, 1, memory_order_relaxed);
	result = pthread_carrier_run(carrier, task);
	atomic_fetch_sub_explicit(&pool->started, 1, memory_order_relaxed);
	task_end(task, result);
}

static void *pool_thread_main(void *arg)
{
	struct pool_executor *pool = arg;
	struct pthread_carrier carrier;
	struct task *task;

	(void)pthread_setname_np(pthread_self(), "fanoutd-pool");
	pthread_carrier_init(&carrier, &pool->seats);
	do {
		while (run_queue_take(&pool->queue, &task, 1, 1, NULL) > 0) {
			if (atomic_load(&pool->queue.tickets) > 0)
				wake_one(pool);
			run_task(pool, &carrier, task);
		}
	} while (wait_for_work(pool, &carrier));
	pthread_carrier_finish(&carrier);
	return NULL;
}

static int pool_submit(struct executor *executor, struct task *task)
{
	struct pool_executor *pool = (struct pool_executor *)executor;
	int error = run_queue_push_root(&pool->queue, task, executor->options.max_queued);

	if (error == 0)
		wake_one(pool);
	return error;
}

static struct run_queue *pool_queue(struct executor *executor, struct task *parent)
{
	(void)parent;
	return &((struct pool_executor *)executor)->queue;
}

static void pool_offer(struct executor *executor, struct scope *scope)
{
	struct pool_executor *pool = (struct pool_executor *)executor;

	run_queue_push(&pool->queue, &scope->ticket);
	wake_one(pool);
}

/* The parent's look at the clock while a child keeps its thread. */
struct scope_timer {
	struct carrier_timer timer;
	struct scope *scope;
};

static void scope_timer_fire(struct carrier_timer *timer)
{
	scope_cancel(((struct scope_timer *)timer)->scope, CANCEL_DEADLINE);
}

static void pool_run_here(struct executor *executor, struct task *child)
{
	struct pthread_carrier *carrier = task_current()->seat;
	struct scope *scope = child->scope;
	struct scope_timer timer = {.timer.fire = scope_timer_fire, .scope = scope};

	/* Without memory for it the deadline holds all the same, once @child has returned. */
	(void)carrier_set_timer(&carrier->carrier, &timer.timer, scope->deadline);
	run_task((struct pool_executor *)executor, carrier, child);
	(void)carrier_set_timer(&carrier->carrier, &timer.timer, DEADLINE_NEVER);
}

/*
 * A thread that runs no task looks for tickets before it sleeps, and is woken for ours if it does.
 * It may take another parent's ticket first. But if all threads were held by parents that wait, the
 * one that was counted last would have seen them all, and would run its children itself.
 */
static bool pool_has_free_thread(struct executor *executor)
{
	struct pool_executor *pool = (struct pool_executor *)executor;

	return atomic_load_explicit(&pool->started, memory_order_relaxed) < pool->count;
}

static int pool_resize(struct executor *executor, unsigned carriers)
{
	(void)executor;
	(void)carriers;
	return 0;
}

static void pool_stats(struct executor *executor, struct executor_stats *out)
{
	struct pool_executor *pool = (struct pool_executor *)executor;
	unsigned started = atomic_load_explicit(&pool->started, memory_order_relaxed);

	out->running = started > out->parked ? started - out->parked : 0;
	out->queued = atomic_load(&pool->queue.tickets);
	out->threads = pool->count;
}

static int pool_dump_tasks(struct executor *executor, struct task_dump *dump)
{
	pthread_seats_dump(&((struct pool_executor *)executor)->seats, dump);
	return 0;
}

static void pool_destroy(struct executor *executor)
{
	struct pool_executor *pool = (struct pool_executor *)executor;

	pthread_mutex_lock(&pool->lock);
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->count; i++)
		(void)pthread_join(pool->threads[i], NULL);
	pthread_seats_finish(&pool->seats);
	run_queue_finish(&pool->queue);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static int start_threads(struct pool_executor *pool)
{
	int error = 0;

	while (error == 0 && pool->count < pool->executor.options.threads) {
		error = pthread_carrier_start_thread(&pool->threads[pool->count], pool_thread_main,
		                                     pool);
		pool->count += error == 0;
	}
	return error;
}

static int pool_create(const struct executor_options *options, struct executor **out)
{
	struct pool_executor *pool;
	int error;

	if (options->max_queued == 0)
		return -EINVAL;
	pool = calloc(1, sizeof(*pool) + options->threads * sizeof(pool->threads[0]));
	if (!pool)
		return -ENOMEM;
	executor_init(&pool->executor, &pool_executor_ops, options);
	run_queue_init(&pool->queue);
	pthread_seats_init(&pool->seats);
	pool->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	pool->work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	error = start_threads(pool);
	if (error < 0) {
		executor_destroy(&pool->executor);
		return error;
	}
	*out = &pool->executor;
	return 0;
}

const struct executor_ops pool_executor_ops = {
	.name = "pool",
	.task_bytes = 4096, /* what of its thread's stack none before it has touched */
	.create = pool_create,
	.submit = pool_submit,
	.queue = pool_queue,
	.offer = pool_offer,
	.run_here = pool_run_here,
	.has_free_thread = pool_has_free_thread,
	.park = pthread_carrier_park,
	.unpark = pthread_carrier_unpark,
	.yield = pthread_carrier_yield,
	.carrier = pthread_carrier_of,
	.resize = pool_resize,
	.stats = pool_stats,
	.dump_tasks = pool_dump_tasks,
	.destroy = pool_destroy,
};
