#include "executors/coroutine/driver.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "executors/coroutine/carrier.h"
#include "executors/coroutine/overflow.h"
#include "executors/coroutine/stack_signal.h"
#include "executors/deadline.h"
#include "executors/executor_ops.h"
#include "executors/thread_start.h"

#define SPARE_KEPT_NS (30 * INT64_C(1000000000))

static _Thread_local struct driver *self;

__attribute__((noinline)) struct driver *driver_self(void)
{
	struct driver *driver = self;

	__asm__ volatile("" : "+r"(driver));
	return driver;
}

bool driver_owns(const struct coroutine_carrier *carrier)
{
	const struct driver *driver = driver_self();

	return driver && driver->carrier == carrier && !driver->on_task;
}

void driver_pool_init(struct driver_pool *pool)
{
	*pool = (struct driver_pool){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.none_left = PTHREAD_COND_INITIALIZER,
		.spare_kept_ns = SPARE_KEPT_NS,
	};
}

void driver_pool_set_max(struct driver_pool *pool, unsigned max)
{
	pthread_mutex_lock(&pool->lock);
	pool->max = max;
	pthread_mutex_unlock(&pool->lock);
}

unsigned driver_pool_count(struct driver_pool *pool)
{
	unsigned count;

	pthread_mutex_lock(&pool->lock);
	count = pool->count;
	pthread_mutex_unlock(&pool->lock);
	return count;
}

static void add_spare_locked(struct driver_pool *pool, struct driver *driver)
{
	driver->next = pool->spares;
	pool->spares = driver;
	driver->state = DRIVER_SPARE;
	driver->spare_until = deadline_in_ns(pool->spare_kept_ns);
}

static void remove_spare_locked(struct driver_pool *pool, struct driver *driver)
{
	struct driver **at = &pool->spares;

	while (*at != driver)
		at = &(*at)->next;
	*at = driver->next;
}

static void wait_locked(struct driver_pool *pool, struct driver *driver)
{
	struct timespec moment = {driver->spare_until.ns / 1000000000,
	                          driver->spare_until.ns % 1000000000};

	if (driver->state == DRIVER_SPARE)
		(void)pthread_cond_clockwait(&driver->given, &pool->lock, CLOCK_MONOTONIC, &moment);
	else
		(void)pthread_cond_wait(&driver->given, &pool->lock);
}

/* What a driver is given: one of the two. */
struct work {
	struct coroutine_carrier *carrier;
	struct coroutine *beside;
};

/* Neither: none has come for long, or none will come. */
static struct work wait_for_work(struct driver *driver)
{
	struct driver_pool *pool = driver->pool;
	struct work work;

	pthread_mutex_lock(&pool->lock);
	if (driver->state == DRIVER_RUNNING)
		add_spare_locked(pool, driver);
	while (!driver->next_carrier && !driver->next_beside &&
	       !(driver->state == DRIVER_SPARE &&
	         (pool->closing || deadline_remaining_ns(driver->spare_until) == 0)))
		wait_locked(pool, driver);
	if (driver->state == DRIVER_SPARE)
		remove_spare_locked(pool, driver);
	driver->state = DRIVER_RUNNING;
	work = (struct work){driver->next_carrier, driver->next_beside};
	driver->next_carrier = NULL;
	driver->next_beside = NULL;
	pthread_mutex_unlock(&pool->lock);
	return work;
}

/* The calling thread ends; the next to end, or the pool's end, joins it. */
static void leave_pool(struct driver_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->has_ended) {
		pthread_t ended = pool->ended;

		pool->has_ended = false;
		pthread_mutex_unlock(&pool->lock);
		(void)pthread_join(ended, NULL);
		pthread_mutex_lock(&pool->lock);
	}
	pool->has_ended = true;
	pool->ended = pthread_self();
	if (--pool->count == 0)
		pthread_cond_signal(&pool->none_left);
	pthread_mutex_unlock(&pool->lock);
}

static void *driver_main(void *arg)
{
	struct driver *driver = arg;
	struct driver_pool *pool = driver->pool;
	void *signal_stack;

	(void)pthread_setname_np(pthread_self(), "fanoutd-driver");
	driver->tid = gettid();
	if (pthread_getcpuclockid(pthread_self(), &driver->clock) != 0)
		driver->clock = CLOCK_MONOTONIC; /* then time that passes is taken for time used */
	driver->task_of_thread = &task_of_thread;
	driver->errno_of_thread = &errno;
	fiber_adopt_thread(&driver->native);
	signal_stack = overflow_catch_start();
	self = driver;
	stack_signal_start();
	for (;;) {
		struct work work = wait_for_work(driver);

		driver->carrier = work.carrier;
		if (work.carrier)
			coroutine_carrier_drive(work.carrier, driver);
		else if (work.beside)
			coroutine_run_beside(work.beside, driver);
		else
			break;
	}
	self = NULL;
	overflow_catch_stop(signal_stack);
	(void)pthread_cond_destroy(&driver->given);
	free(driver);
	leave_pool(pool);
	return NULL;
}

static struct driver *driver_start(struct driver_pool *pool)
{
	struct driver *driver = calloc(1, sizeof(*driver));
	pthread_t thread; /* the thread itself says it when it ends */

	if (!driver)
		return NULL;
	driver->pool = pool;
	(void)pthread_cond_init(&driver->given, NULL);
	if (thread_start(&thread, 0, driver_main, driver) == 0)
		return driver;
	(void)pthread_cond_destroy(&driver->given);
	free(driver);
	return NULL;
}

struct driver *driver_pool_take(struct driver_pool *pool)
{
	struct driver *driver;
	bool start;

	pthread_mutex_lock(&pool->lock);
	driver = pool->spares;
	if (driver) {
		remove_spare_locked(pool, driver);
		driver->state = DRIVER_TAKEN;
	}
	start = !driver && pool->count < pool->max;
	pool->count += start;
	pthread_mutex_unlock(&pool->lock);
	if (!start)
		return driver;
	driver = driver_start(pool);
	if (driver)
		return driver;
	pthread_mutex_lock(&pool->lock);
	pool->count--;
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

void driver_pool_put_back(struct driver_pool *pool, struct driver *driver)
{
	pthread_mutex_lock(&pool->lock);
	add_spare_locked(pool, driver);
	pthread_cond_signal(&driver->given); /* it waits otherwise now */
	pthread_mutex_unlock(&pool->lock);
}

void driver_give(struct driver *driver, struct coroutine_carrier *carrier)
{
	struct driver_pool *pool = driver->pool;

	pthread_mutex_lock(&pool->lock);
	driver->next_carrier = carrier;
	pthread_cond_signal(&driver->given);
	pthread_mutex_unlock(&pool->lock);
}

void driver_give_beside(struct driver *driver, struct coroutine *coroutine)
{
	struct driver_pool *pool = driver->pool;

	pthread_mutex_lock(&pool->lock);
	driver->next_beside = coroutine;
	pthread_cond_signal(&driver->given);
	pthread_mutex_unlock(&pool->lock);
}

void driver_pool_finish(struct driver_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	for (struct driver *spare = pool->spares; spare; spare = spare->next)
		pthread_cond_signal(&spare->given);
	while (pool->count > 0)
		pthread_cond_wait(&pool->none_left, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	if (pool->has_ended)
		(void)pthread_join(pool->ended, NULL);
	pthread_cond_destroy(&pool->none_left);
	pthread_mutex_destroy(&pool->lock);
}
