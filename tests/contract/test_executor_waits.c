#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "executors/latch.h"
#include "executors/mutex.h"
#include "executors/scope.h"
#include "executors/semaphore.h"
#include "tests/contract/over_executor.h"

/* What tasks wait for each other with, on one executor and between two. */

enum { TASKS = 100, ROUNDS = 20 };

static struct deadline far_away(void)
{
	return deadline_in_ms(60000);
}

/* Tasks that all do the same, each with its number, on one executor or on two by turns. */
struct crowd;

struct member {
	struct task task;
	struct crowd *crowd;
	int number;
};

struct crowd {
	int (*act)(struct member *member);
	struct countdown over;
	struct member members[TASKS];

	struct latch latch;
	struct task_mutex mutex;
	struct task_semaphore semaphore;
	int count; /* mutex; or that of the test */
	int order[TASKS];
	atomic_int inside, peak, timeouts;
};

static int member_run(struct task *task)
{
	struct member *member = (struct member *)task;

	return member->crowd->act(member);
}

static void member_done(struct task *task)
{
	countdown_arrive(&((struct member *)task)->crowd->over);
}

static struct crowd *make_crowd(int (*act)(struct member *member))
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	assert_non_null(crowd);
	crowd->act = act;
	for (int i = 0; i < TASKS; i++)
		crowd->members[i] = (struct member){
			.task = {.run = member_run, .done = member_done},
			.crowd = crowd,
			.number = i,
		};
	return crowd;
}

static void run_crowd(struct crowd *crowd, struct executor *even, struct executor *odd)
{
	countdown_init(&crowd->over, TASKS);
	for (int i = 0; i < TASKS; i++)
		assert_int_equal(executor_submit(i % 2 ? odd : even, &crowd->members[i].task), 0);
	countdown_wait(&crowd->over);
	countdown_finish(&crowd->over);
}

static void assert_all_returned(struct crowd *crowd, int result)
{
	for (int i = 0; i < TASKS; i++)
		assert_int_equal(crowd->members[i].task.result, result);
}

/* Run it on the executor under test alone, then half on that and half on another. */
static void run_alone_and_beside(int (*act)(struct member *member),
                                 void (*prepare)(struct crowd *crowd),
                                 void (*check)(struct crowd *crowd))
{
	static const char *const others[] = {NULL, "pool", "thread"};

	for (int i = 0; i < 3; i++) {
		struct executor *executor = start_executor(TASKS), *other = executor;
		struct executor_options options = options_for(TASKS);
		struct crowd *crowd = make_crowd(act);

		options.threads = TASKS;
		if (others[i])
			assert_int_equal(executor_create(others[i], &options, &other), 0);
		prepare(crowd);
		run_crowd(crowd, executor, other);
		executor_destroy(executor);
		if (other != executor)
			executor_destroy(other);
		check(crowd);
		free(crowd);
	}
}

static void prepare_latch(struct crowd *crowd)
{
	latch_init(&crowd->latch, TASKS - 1);
}

static int wait_for_all_the_others(struct member *member)
{
	struct crowd *crowd = member->crowd;

	if (member->number == 0)
		return latch_wait(&crowd->latch, far_away());
	atomic_fetch_add(&crowd->inside, 1);
	latch_arrive(&crowd->latch);
	return 0;
}

static void check_latch(struct crowd *crowd)
{
	assert_all_returned(crowd, 0);
	assert_int_equal(crowd->inside, TASKS - 1);
	latch_finish(&crowd->latch);
}

static void a_latch_opens_after_the_last_arrival(void **state)
{
	(void)state;
	run_alone_and_beside(wait_for_all_the_others, prepare_latch, check_latch);
}

static int latch_that_times_out(void *arg)
{
	int *errors = arg;
	struct latch latch;

	latch_init(&latch, 1);
	errors[0] = latch_wait(&latch, deadline_in_ms(5));
	errors[1] = latch_wait_masked(&latch, deadline_in_ms(1));
	latch_arrive(&latch);
	errors[2] = latch_wait(&latch, deadline_in_ms(-1));
	latch_finish(&latch);
	return 0;
}

static void a_latch_times_out_and_can_be_waited_for_again(void **state)
{
	struct executor *executor = start_executor(1);
	int errors[3];

	(void)state;
	(void)run_in_task(executor, latch_that_times_out, errors);
	executor_destroy(executor);
	assert_int_equal(errors[0], -ETIMEDOUT);
	assert_int_equal(errors[1], -ETIMEDOUT);
	assert_int_equal(errors[2], 0);
}

static void prepare_mutex(struct crowd *crowd)
{
	task_mutex_init(&crowd->mutex);
}

static int count_in_turns(struct member *member)
{
	struct crowd *crowd = member->crowd;

	for (int round = 0; round < ROUNDS; round++) {
		int error = task_mutex_lock(&crowd->mutex, far_away());
		int seen = crowd->count;

		if (error < 0)
			return error;
		if (round % 4 == 0)
			task_yield();
		crowd->count = seen + 1;
		task_mutex_unlock(&crowd->mutex);
	}
	return 0;
}

static void check_mutex(struct crowd *crowd)
{
	assert_all_returned(crowd, 0);
	assert_int_equal(crowd->count, TASKS * ROUNDS);
	task_mutex_finish(&crowd->mutex);
}

static void a_mutex_is_held_by_one_task_at_a_time(void **state)
{
	(void)state;
	run_alone_and_beside(count_in_turns, prepare_mutex, check_mutex);
}

/* Children forked while the parent holds the mutex, one after the other has begun to wait. */
struct queuing {
	struct task task;
	struct crowd *crowd;
	int number;
	int error;
};

static int append_own_number(struct task *task)
{
	struct queuing *queuing = (struct queuing *)task;
	struct crowd *crowd = queuing->crowd;

	atomic_fetch_add(&crowd->inside, 1);
	queuing->error = task_mutex_lock(&crowd->mutex, far_away());
	if (queuing->error == 0) {
		crowd->order[crowd->count++] = queuing->number;
		task_mutex_unlock(&crowd->mutex);
	}
	return queuing->error;
}

static bool has_waiters(struct task_semaphore *semaphore, const void *last)
{
	bool has;

	pthread_mutex_lock(&semaphore->lock);
	has = semaphore->waiters.last != last;
	pthread_mutex_unlock(&semaphore->lock);
	return has;
}

static int fork_in_order(void *arg)
{
	struct crowd *crowd = arg;
	struct task_semaphore *semaphore = &crowd->mutex.semaphore;
	struct queuing children[10];
	struct scope scope;
	int error = task_mutex_lock(&crowd->mutex, far_away());

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < 10; i++) {
		const void *last = semaphore->waiters.last;

		children[i] = (struct queuing){
			.task = {.run = append_own_number}, .crowd = crowd, .number = i};
		error |= scope_fork(&scope, &children[i].task);
		while (error == 0 && !has_waiters(semaphore, last))
			(void)task_park(deadline_in_ms(1));
	}
	task_mutex_unlock(&crowd->mutex);
	error |= scope_join(&scope);
	for (int i = 0; i < 10; i++)
		error |= children[i].error;
	return error;
}

static void a_mutex_is_handed_over_in_order(void **state)
{
	struct executor *executor = start_executor(11);
	struct crowd *crowd = make_crowd(NULL);

	(void)state;
	prepare_mutex(crowd);
	assert_int_equal(run_in_task(executor, fork_in_order, crowd), 0);
	executor_destroy(executor);
	assert_int_equal(crowd->count, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(crowd->order[i], i);
	task_mutex_finish(&crowd->mutex);
	free(crowd);
}

/* A child that cannot get the mutex because its parent holds it. */
static int lock_briefly(struct task *task)
{
	struct queuing *queuing = (struct queuing *)task;
	struct task_mutex *mutex = &queuing->crowd->mutex;

	queuing->error = task_mutex_lock(mutex, deadline_in_ms(5));
	return task_mutex_trylock(mutex);
}

static int hold_while_a_child_tries(void *arg)
{
	struct queuing child = {.task = {.run = lock_briefly}, .crowd = arg};
	struct task_mutex *mutex = &child.crowd->mutex;
	struct scope scope;
	int error = task_mutex_trylock(mutex);

	scope_open(&scope, &(struct scope_options){0});
	error |= scope_fork(&scope, &child.task);
	error |= scope_join(&scope);
	task_mutex_unlock(mutex);
	if (error == 0 && (child.error != -ETIMEDOUT || child.task.result != -EAGAIN))
		error = -EPROTO;
	/* Nobody waits any more: it is free. */
	error |= task_mutex_lock(mutex, deadline_in_ms(-1));
	task_mutex_unlock(mutex);
	return error;
}

static void a_mutex_is_not_waited_for_beyond_the_deadline(void **state)
{
	struct executor *executor = start_executor(2);
	struct crowd *crowd = make_crowd(NULL);

	(void)state;
	prepare_mutex(crowd);
	assert_int_equal(run_in_task(executor, hold_while_a_child_tries, crowd), 0);
	executor_destroy(executor);
	task_mutex_finish(&crowd->mutex);
	free(crowd);
}

enum { PERMITS = 3 };

static void prepare_semaphore(struct crowd *crowd)
{
	task_semaphore_init(&crowd->semaphore, PERMITS);
}

static void be_inside(struct crowd *crowd, int round)
{
	int now = atomic_fetch_add(&crowd->inside, 1) + 1;
	int peak = atomic_load(&crowd->peak);

	while (now > peak && !atomic_compare_exchange_weak(&crowd->peak, &peak, now))
		continue;
	if (round % 4 == 0)
		(void)task_park(deadline_in_ns(50000));
	else
		task_yield();
	atomic_fetch_sub(&crowd->inside, 1);
}

/* Many give up: a permit handed to one that has just timed out must not be lost. */
static int enter_or_give_up(struct member *member)
{
	struct crowd *crowd = member->crowd;

	for (int round = 0; round < ROUNDS; round++) {
		struct deadline deadline =
			member->number % 2 ? far_away() : deadline_in_ns(member->number * 20000LL);
		int error = task_semaphore_acquire(&crowd->semaphore, deadline);

		if (error == -ETIMEDOUT) {
			atomic_fetch_add(&crowd->timeouts, 1);
			continue;
		}
		if (error < 0)
			return error;
		be_inside(crowd, round);
		task_semaphore_release(&crowd->semaphore);
	}
	return 0;
}

static void check_semaphore(struct crowd *crowd)
{
	assert_all_returned(crowd, 0);
	assert_in_range(crowd->peak, 1, PERMITS);
	assert_in_range(crowd->timeouts, 1, TASKS * ROUNDS / 2);
	assert_int_equal(crowd->semaphore.permits, PERMITS);
	for (int i = 0; i < PERMITS; i++)
		assert_int_equal(task_semaphore_try_acquire(&crowd->semaphore), 0);
	assert_int_equal(task_semaphore_try_acquire(&crowd->semaphore), -EAGAIN);
	task_semaphore_finish(&crowd->semaphore);
}

static void a_semaphore_lets_no_more_in_than_it_has_permits(void **state)
{
	(void)state;
	run_alone_and_beside(enter_or_give_up, prepare_semaphore, check_semaphore);
}

/* Tasks under a scope that is cancelled while they wait for the semaphore. */
struct canceled_wait {
	struct task task;
	struct task_semaphore *semaphore;
};

static int acquire_and_release(struct task *task)
{
	struct task_semaphore *semaphore = ((struct canceled_wait *)task)->semaphore;
	int error = task_semaphore_acquire(semaphore, DEADLINE_NEVER);

	if (error == 0)
		task_semaphore_release(semaphore);
	return error;
}

static int cancel_waiters_beside_releases(void *arg)
{
	struct task_semaphore *semaphore = arg;
	struct canceled_wait waits[10];
	struct scope scope;
	int error = task_semaphore_acquire(semaphore, DEADLINE_NEVER);

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < 10; i++) {
		waits[i] = (struct canceled_wait){.task = {.run = acquire_and_release},
		                                  .semaphore = semaphore};
		error |= scope_fork(&scope, &waits[i].task);
	}
	task_yield();
	task_semaphore_release(semaphore);
	scope_cancel(&scope, CANCEL_SIBLING_DONE);
	if (scope_join(&scope) != -ECANCELED)
		error = -EPROTO;
	for (int i = 0; i < 10; i++)
		if (waits[i].task.result != 0 && waits[i].task.result != -ECANCELED)
			error = -EPROTO;
	return error;
}

static void cancelled_waits_leave_a_semaphore_consistent(void **state)
{
	struct executor *executor = start_executor(11);
	struct task_semaphore semaphore;

	(void)state;
	task_semaphore_init(&semaphore, 1);
	for (int i = 0; i < TASKS; i++) {
		assert_int_equal(run_in_task(executor, cancel_waiters_beside_releases, &semaphore),
		                 0);
		assert_int_equal(semaphore.permits, 1);
	}
	executor_destroy(executor);
	task_semaphore_finish(&semaphore);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_latch_opens_after_the_last_arrival),
		cmocka_unit_test(a_latch_times_out_and_can_be_waited_for_again),
		cmocka_unit_test(a_mutex_is_held_by_one_task_at_a_time),
		cmocka_unit_test(a_mutex_is_handed_over_in_order),
		cmocka_unit_test(a_mutex_is_not_waited_for_beyond_the_deadline),
		cmocka_unit_test(a_semaphore_lets_no_more_in_than_it_has_permits),
		cmocka_unit_test(cancelled_waits_leave_a_semaphore_consistent),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
