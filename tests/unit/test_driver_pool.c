#include "executors/coroutine/driver.h"

#include "executors/coroutine/executor.h"
#include "tests/contract/over_executor.h"
#include "tests/with_cmocka.h"

/* Drivers come when they are taken, wait as spares, and end when nobody has wanted them for long:
 * here for so long. */
static const int64_t soon_ns = 5 * INT64_C(1000000);
static const int64_t late_ns = 3600 * INT64_C(1000000000);

static void wait_for_count(struct driver_pool *pool, unsigned count)
{
	while (driver_pool_count(pool) != count)
		(void)sched_yield();
}

static void start(struct driver_pool *pool, unsigned max, int64_t spare_kept_ns)
{
	driver_pool_init(pool);
	pool->spare_kept_ns = spare_kept_ns;
	driver_pool_set_max(pool, max);
}

static void spares_are_kept_for_30_s(void **state)
{
	struct driver_pool pool;

	(void)state;
	driver_pool_init(&pool);
	assert_int_equal(pool.spare_kept_ns, 30 * INT64_C(1000000000));
	driver_pool_finish(&pool);
}

static void there_are_no_more_than_the_maximum(void **state)
{
	struct driver *drivers[2];
	struct driver_pool pool;

	(void)state;
	start(&pool, 2, late_ns);
	drivers[0] = driver_pool_take(&pool);
	drivers[1] = driver_pool_take(&pool);
	assert_non_null(drivers[0]);
	assert_non_null(drivers[1]);
	assert_null(driver_pool_take(&pool));
	driver_pool_set_max(&pool, 1);
	driver_pool_put_back(&pool, drivers[0]);
	assert_int_equal(driver_pool_count(&pool), 2); /* those there are stay */
	driver_pool_put_back(&pool, drivers[1]);
	driver_pool_finish(&pool);
}

static void the_last_to_become_a_spare_is_taken_first(void **state)
{
	struct driver *first, *second;
	struct driver_pool pool;

	(void)state;
	start(&pool, 2, late_ns);
	first = driver_pool_take(&pool);
	second = driver_pool_take(&pool);
	driver_pool_put_back(&pool, first);
	driver_pool_put_back(&pool, second);
	assert_ptr_equal(driver_pool_take(&pool), second);
	assert_ptr_equal(driver_pool_take(&pool), first);
	assert_int_equal(driver_pool_count(&pool), 2);
	driver_pool_put_back(&pool, first);
	driver_pool_put_back(&pool, second);
	driver_pool_finish(&pool);
}

static void a_spare_that_nobody_wants_ends(void **state)
{
	struct driver *drivers[3];
	struct driver_pool pool;

	(void)state;
	start(&pool, 3, soon_ns);
	for (unsigned i = 0; i < 3; i++)
		drivers[i] = driver_pool_take(&pool);
	for (unsigned i = 1; i < 3; i++)
		driver_pool_put_back(&pool, drivers[i]);
	wait_for_count(&pool, 1); /* one that was taken stays, however long */
	drivers[1] = driver_pool_take(&pool);
	assert_non_null(drivers[1]);
	driver_pool_put_back(&pool, drivers[0]);
	driver_pool_put_back(&pool, drivers[1]);
	wait_for_count(&pool, 0);
	driver_pool_finish(&pool);
}

/* ------ in an executor, whose first tasks come after the time was set */

enum { BLOCKED = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t let_go = PTHREAD_COND_INITIALIZER;
static bool may_go; /* lock */
static struct countdown over;

static int block(struct task *task)
{
	(void)task;
	pthread_mutex_lock(&lock);
	while (!may_go)
		pthread_cond_wait(&let_go, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void has_ended(struct task *task)
{
	(void)task;
	countdown_arrive(&over);
}

static void spares_that_took_carriers_end_too(void **state)
{
	static struct task tasks[BLOCKED];
	struct executor_options options = options_for(4);
	struct executor *executor;
	struct driver_pool *pool;

	(void)state;
	options.threads = 1;
	options.pinned_threshold_ms = 2;
	executor = start_executor_with(&options);
	pool = &((struct coroutine_executor *)executor)->drivers;
	pool->spare_kept_ns = soon_ns;
	countdown_init(&over, BLOCKED);
	for (unsigned i = 0; i < BLOCKED; i++) {
		tasks[i] = (struct task){.run = block, .done = has_ended};
		assert_int_equal(executor_submit(executor, &tasks[i]), 0);
	}
	wait_for_count(pool, BLOCKED + 1);
	pthread_mutex_lock(&lock);
	may_go = true;
	pthread_cond_broadcast(&let_go);
	pthread_mutex_unlock(&lock);
	countdown_wait(&over);
	countdown_finish(&over);
	wait_for_count(pool, 1);
	executor_destroy(executor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spares_are_kept_for_30_s),
		cmocka_unit_test(there_are_no_more_than_the_maximum),
		cmocka_unit_test(the_last_to_become_a_spare_is_taken_first),
		cmocka_unit_test(a_spare_that_nobody_wants_ends),
		cmocka_unit_test(spares_that_took_carriers_end_too),
	};

	executor_under_test = "coroutine";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
