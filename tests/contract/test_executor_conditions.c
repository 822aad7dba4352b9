#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "executors/condition.h"
#include "executors/once.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Mutexes that are held across a wait, conditions, and what is done once. */

enum { MEMBERS = 100, ROUNDS = 50 };

struct meeting;

struct member {
	struct task task;
	struct meeting *meeting;
	int number;
};

struct meeting {
	struct task_mutex mutex;
	struct task_condition condition;
	struct task_once once;
	int stock;            /* mutex */
	int waiting;          /* mutex */
	int count;            /* mutex */
	int order[MEMBERS];   /* mutex */
	atomic_int runs;      /* of what is done once */
	atomic_int now, peak; /* in it */
	int fails;            /* so many attempts at it, the first ones */
	struct countdown over;
	struct member members[MEMBERS];
};

static struct meeting *make_meeting(void)
{
	struct meeting *meeting = calloc(1, sizeof(*meeting));

	assert_non_null(meeting);
	task_mutex_init(&meeting->mutex);
	task_condition_init(&meeting->condition);
	task_once_init(&meeting->once);
	return meeting;
}

static void free_meeting(struct meeting *meeting)
{
	task_once_finish(&meeting->once);
	task_condition_finish(&meeting->condition);
	task_mutex_finish(&meeting->mutex);
	free(meeting);
}

static int fork_members(struct scope *scope, struct meeting *meeting, int first, int count,
                        int (*run)(struct task *task))
{
	int error = 0;

	for (int i = first; i < first + count; i++) {
		meeting->members[i] =
			(struct member){.task.run = run, .meeting = meeting, .number = i};
		error |= scope_fork(scope, &meeting->members[i].task);
	}
	return error;
}

static void run_meeting(unsigned at_once, int (*fn)(void *arg), struct meeting *meeting)
{
	struct executor *executor = start_executor(at_once);

	assert_int_equal(run_in_task(executor, fn, meeting), 0);
	executor_destroy(executor);
}

/* ------ a mutex held across a wait */

static int count_while_it_is_held(struct task *task)
{
	struct meeting *meeting = ((struct member *)task)->meeting;

	if (task_mutex_trylock(&meeting->mutex) != -EAGAIN)
		return -EPROTO;
	atomic_fetch_add(&meeting->runs, 1);
	return 0;
}

/* All others run, on the same carrier, while this one sleeps with the mutex. */
static int hold_until_all_have_run(void *arg)
{
	struct meeting *meeting = arg;
	struct scope scope;
	int error = task_mutex_lock(&meeting->mutex, DEADLINE_NEVER);

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	error |= fork_members(&scope, meeting, 0, MEMBERS, count_while_it_is_held);
	while (error == 0 && atomic_load(&meeting->runs) < MEMBERS)
		error = task_sleep_until(deadline_in_ms(1));
	task_mutex_unlock(&meeting->mutex);
	return scope_join(&scope) | error;
}

static void a_mutex_held_in_a_sleep_lets_the_carrier_go(void **state)
{
	struct executor_options options = options_for(2);
	struct meeting *meeting = make_meeting();
	struct executor *executor;

	(void)state;
	options.threads = options.threads > 2 ? 1 : options.threads; /* the pool has 2 */
	executor = start_executor_with(&options);
	assert_int_equal(run_in_task(executor, hold_until_all_have_run, meeting), 0);
	executor_destroy(executor);
	assert_int_equal(meeting->runs, MEMBERS);
	free_meeting(meeting);
}

static int sleep_with_the_mutex(struct task *task)
{
	struct member *member = (struct member *)task;
	struct meeting *meeting = member->meeting;
	int error = task_mutex_lock(&meeting->mutex, DEADLINE_NEVER), seen;

	if (error < 0)
		return error;
	seen = meeting->count;
	if (member->number % 10 == 0)
		error = task_sleep_until(deadline_in_ns(200000));
	meeting->count = seen + 1;
	task_mutex_unlock(&meeting->mutex);
	return error;
}

static int take_turns(void *arg)
{
	struct meeting *meeting = arg;
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	error = fork_members(&scope, meeting, 0, MEMBERS, sleep_with_the_mutex);
	return scope_join(&scope) | error;
}

static void a_mutex_is_exclusive_in_sleeps_as_well(void **state)
{
	struct meeting *meeting = make_meeting();

	(void)state;
	run_meeting(4, take_turns, meeting);
	assert_int_equal(meeting->count, MEMBERS);
	free_meeting(meeting);
}

/* ------ conditions */

static int wait_for_signal(struct task *task)
{
	struct member *member = (struct member *)task;
	struct meeting *meeting = member->meeting;
	int error = task_mutex_lock(&meeting->mutex, DEADLINE_NEVER);

	if (error < 0)
		return error;
	meeting->waiting++;
	error = task_condition_wait(&meeting->condition, &meeting->mutex, DEADLINE_NEVER);
	meeting->waiting--;
	meeting->order[meeting->count++] = member->number; /* ours again, whatever @error */
	task_mutex_unlock(&meeting->mutex);
	return error;
}

static void await(struct meeting *meeting, const int *figure, int value)
{
	int seen;

	do {
		(void)task_park(deadline_in_ns(100000));
		task_mutex_lock_masked(&meeting->mutex);
		seen = *figure;
		task_mutex_unlock(&meeting->mutex);
	} while (seen != value);
}

static int signal_one_by_one(void *arg)
{
	struct meeting *meeting = arg;
	struct scope scope;
	int error = 0;

	task_condition_signal(&meeting->condition); /* lost: nobody waits */
	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	for (int i = 0; i < 10; i++) {
		error |= fork_members(&scope, meeting, i, 1, wait_for_signal);
		await(meeting, &meeting->waiting, i + 1);
	}
	for (int i = 0; i < 10; i++) {
		task_condition_signal(&meeting->condition);
		await(meeting, &meeting->count, i + 1);
	}
	error |= scope_join(&scope);
	for (int i = 0; i < 10; i++)
		if (meeting->order[i] != i)
			error = -EPROTO;
	return error;
}

static void a_signal_wakes_who_has_waited_longest(void **state)
{
	struct meeting *meeting = make_meeting();

	(void)state;
	run_meeting(11, signal_one_by_one, meeting);
	free_meeting(meeting);
}

static int signal_all(void *arg)
{
	struct meeting *meeting = arg;
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	error = fork_members(&scope, meeting, 0, MEMBERS, wait_for_signal);
	await(meeting, &meeting->waiting, MEMBERS);
	task_condition_broadcast(&meeting->condition);
	return scope_join(&scope) | error;
}

static void a_broadcast_wakes_all(void **state)
{
	struct meeting *meeting = make_meeting();

	(void)state;
	run_meeting(MEMBERS + 1, signal_all, meeting);
	assert_int_equal(meeting->count, MEMBERS);
	free_meeting(meeting);
}

static int wait_in_vain(void *arg)
{
	struct meeting *meeting = arg;
	int error = task_mutex_lock(&meeting->mutex, DEADLINE_NEVER);

	if (task_condition_wait(&meeting->condition, &meeting->mutex, deadline_in_ms(5)) !=
	    -ETIMEDOUT)
		error = -EPROTO;
	task_mutex_unlock(&meeting->mutex);
	return error;
}

static bool has_ten_askers(struct task_mutex *mutex)
{
	int count = 0;

	pthread_mutex_lock(&mutex->semaphore.lock);
	for (const struct task_waiter *waiter = mutex->semaphore.waiters.first; waiter;
	     waiter = waiter->next)
		count++;
	pthread_mutex_unlock(&mutex->semaphore.lock);
	return count == 10;
}

/* They have to wait for the mutex as well. */
static int cancel_those_that_wait(void *arg)
{
	struct meeting *meeting = arg;
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){0});
	error = fork_members(&scope, meeting, 0, 10, wait_for_signal);
	await(meeting, &meeting->waiting, 10);
	error |= task_mutex_lock(&meeting->mutex, DEADLINE_NEVER);
	scope_cancel(&scope, CANCEL_SIBLING_DONE);
	while (!has_ten_askers(&meeting->mutex))
		(void)task_park(deadline_in_ms(1));
	if (meeting->count != 0)
		error = -EPROTO;
	task_mutex_unlock(&meeting->mutex);
	if (scope_join(&scope) != -ECANCELED || meeting->count != 10)
		error = -EPROTO;
	for (int i = 0; i < 10; i++)
		if (meeting->members[i].task.result != -ECANCELED)
			error = -EPROTO;
	return error;
}

static void a_wait_that_fails_has_the_mutex_all_the_same(void **state)
{
	struct meeting *meeting = make_meeting();

	(void)state;
	run_meeting(11, wait_in_vain, meeting);
	run_meeting(11, cancel_those_that_wait, meeting);
	free_meeting(meeting);
}

/* Takers and givers on two executors. Some takers give up: their signal must go to another. */
static int take(struct meeting *meeting, const struct member *member)
{
	int error = task_mutex_lock(&meeting->mutex, DEADLINE_NEVER);

	while (error == 0 && meeting->stock == 0) {
		struct deadline deadline = member->number % 4 == 1
		                                   ? deadline_in_ns(member->number * 1000LL)
		                                   : deadline_in_ms(60000);

		error = task_condition_wait(&meeting->condition, &meeting->mutex, deadline);
		if (error == -ETIMEDOUT && meeting->stock > 0)
			error = 0;
	}
	meeting->stock -= error == 0;
	meeting->count += error == 0;
	task_mutex_unlock(&meeting->mutex);
	return error;
}

static int give(struct meeting *meeting)
{
	int error = task_mutex_lock(&meeting->mutex, DEADLINE_NEVER);

	meeting->stock++;
	task_mutex_unlock(&meeting->mutex);
	task_condition_signal(&meeting->condition);
	return error;
}

/* The odd ones take, the even ones give. */
static int take_or_give(struct task *task)
{
	struct member *member = (struct member *)task;

	for (int i = 0; i < ROUNDS;) {
		int error =
			member->number % 2 ? take(member->meeting, member) : give(member->meeting);

		if (error < 0 && error != -ETIMEDOUT)
			return error;
		i += error == 0;
	}
	return 0;
}

static int open_once(void *arg)
{
	struct meeting *meeting = arg;
	int run = atomic_fetch_add(&meeting->runs, 1);

	if (atomic_fetch_add(&meeting->now, 1) > 0)
		atomic_store(&meeting->peak, 2);
	(void)task_park(deadline_in_ms(2));
	atomic_fetch_sub(&meeting->now, 1);
	if (run < meeting->fails)
		return -EIO;
	meeting->stock = 7;
	return 0;
}

static int need_it_open(struct task *task)
{
	struct meeting *meeting = ((struct member *)task)->meeting;
	int error = task_once_run(&meeting->once, open_once, meeting, DEADLINE_NEVER);

	return error == 0 && meeting->stock != 7 ? -EPROTO : error;
}

static void member_done(struct task *task)
{
	countdown_arrive(&((struct member *)task)->meeting->over);
}

/* Run all members, half of them on the executor under test and half on one of @kind. */
static void run_members_beside(struct meeting *meeting, const char *kind,
                               int (*run)(struct task *task))
{
	struct executor_options options = options_for(MEMBERS);
	struct executor *executors[2] = {start_executor(MEMBERS), NULL};

	options.threads = MEMBERS;
	assert_int_equal(executor_create(kind, &options, &executors[1]), 0);
	countdown_init(&meeting->over, MEMBERS);
	for (int i = 0; i < MEMBERS; i++) {
		meeting->members[i] = (struct member){
			.task = {.run = run, .done = member_done},
			.meeting = meeting,
			.number = i,
		};
		assert_int_equal(executor_submit(executors[i / 2 % 2], &meeting->members[i].task),
		                 0);
	}
	countdown_wait(&meeting->over);
	countdown_finish(&meeting->over);
	executor_destroy(executors[0]);
	executor_destroy(executors[1]);
}

static void no_signal_is_lost_between_executors(void **state)
{
	(void)state;
	for (const char *const *kind = executor_names(); *kind; kind++) {
		struct meeting *meeting = make_meeting();

		run_members_beside(meeting, *kind, take_or_give);
		for (int i = 0; i < MEMBERS; i++)
			assert_int_equal(meeting->members[i].task.result, 0);
		assert_int_equal(meeting->stock, 0);
		assert_int_equal(meeting->count, MEMBERS / 2 * ROUNDS);
		free_meeting(meeting);
	}
}

/* ------ once */

static void it_is_done_once_for_all_who_need_it(void **state)
{
	(void)state;
	for (const char *const *kind = executor_names(); *kind; kind++) {
		struct meeting *meeting = make_meeting();

		run_members_beside(meeting, *kind, need_it_open);
		for (int i = 0; i < MEMBERS; i++)
			assert_int_equal(meeting->members[i].task.result, 0);
		assert_int_equal(meeting->runs, 1);
		free_meeting(meeting);
	}
}

static void who_fails_leaves_it_to_the_next(void **state)
{
	struct meeting *meeting = make_meeting();
	int failed = 0;

	(void)state;
	meeting->fails = 3;
	run_members_beside(meeting, "thread", need_it_open);
	for (int i = 0; i < MEMBERS; i++) {
		int result = meeting->members[i].task.result;

		assert_true(result == 0 || result == -EIO);
		failed += result < 0;
	}
	assert_int_equal(failed, 3);
	assert_int_equal(meeting->runs, 4);
	assert_int_equal(meeting->peak, 0);
	free_meeting(meeting);
}

static int need_it_soon(struct task *task)
{
	struct meeting *meeting = ((struct member *)task)->meeting;

	return task_once_run(&meeting->once, open_once, meeting, deadline_in_ms(5));
}

static int keep_a_child_waiting(void *arg)
{
	struct meeting *meeting = arg;
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.policy = SCOPE_FAIL_FAST});
	error = fork_members(&scope, meeting, 0, 1, need_it_soon);
	return error ? error : scope_join(&scope);
}

static int need_it_while_it_takes_long(void *arg)
{
	struct meeting *meeting = arg;

	if (task_once_run(&meeting->once, keep_a_child_waiting, meeting, DEADLINE_NEVER) !=
	    -ETIMEDOUT)
		return -EPROTO;
	return meeting->runs == 0 ? 0 : -EPROTO;
}

static void waiting_for_it_has_a_deadline(void **state)
{
	struct meeting *meeting = make_meeting();

	(void)state;
	run_meeting(2, need_it_while_it_takes_long, meeting);
	free_meeting(meeting);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mutex_held_in_a_sleep_lets_the_carrier_go),
		cmocka_unit_test(a_mutex_is_exclusive_in_sleeps_as_well),
		cmocka_unit_test(a_signal_wakes_who_has_waited_longest),
		cmocka_unit_test(a_broadcast_wakes_all),
		cmocka_unit_test(a_wait_that_fails_has_the_mutex_all_the_same),
		cmocka_unit_test(no_signal_is_lost_between_executors),
		cmocka_unit_test(it_is_done_once_for_all_who_need_it),
		cmocka_unit_test(who_fails_leaves_it_to_the_next),
		cmocka_unit_test(waiting_for_it_has_a_deadline),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
