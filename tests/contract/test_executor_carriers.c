#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executors/carrier.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* What a library driven by events does on a carrier: services, watches, timers. */

static struct deadline far_away(void)
{
	return deadline_in_ms(60000);
}

/* The same one through parks, and handed to what is called on it. */
static void note_carrier(struct carrier *carrier, void *arg)
{
	*(struct carrier **)arg = carrier;
}

static int compare_carriers(void *arg)
{
	struct carrier *first = carrier_current();

	(void)arg;
	for (int i = 0; i < 100; i++) {
		struct carrier *called = NULL, *called_small = NULL;

		carrier_call(note_carrier, &called);
		carrier_call_small(note_carrier, &called_small);
		if (called != first || called_small != first || carrier_current() != first)
			return -EPROTO;
		(void)task_park(deadline_in_ns(10000));
	}
	return 0;
}

static void a_task_keeps_its_carrier(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, compare_carriers, NULL), 0);
	executor_destroy(executor);
}

/* A service that counts its users; made by the first of each carrier. */
static const char service_key;
static atomic_uint services_made, services_stopped, users_counted;

struct counting_service {
	struct carrier_service service;
	unsigned users; /* not atomic: touched on the carrier alone */
};

static void counting_service_stop(struct carrier_service *service)
{
	atomic_fetch_add(&services_stopped, 1);
	atomic_fetch_add(&users_counted, ((struct counting_service *)service)->users);
	free(service);
}

static void count_user(struct carrier *carrier, void *arg)
{
	struct carrier_service *service = carrier_service_find(carrier, &service_key);
	struct counting_service **mine = arg;

	if (!service) {
		struct counting_service *made = calloc(1, sizeof(*made));

		if (!made)
			abort();
		made->service.key = &service_key;
		made->service.stop = counting_service_stop;
		service = &made->service;
		carrier_service_add(carrier, service);
		atomic_fetch_add(&services_made, 1);
	}
	if (*mine && *mine != (struct counting_service *)service)
		abort();
	*mine = (struct counting_service *)service;
	(*mine)->users++;
}

static int use_service(struct task *task)
{
	struct counting_service *mine = NULL;

	(void)task;
	carrier_call(count_user, &mine);
	task_yield();
	carrier_call(count_user, &mine);
	return 0;
}

static int fork_users(void *arg)
{
	struct task *tasks = arg;
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){0});
	for (int i = 0; i < 100; i++) {
		tasks[i] = (struct task){.run = use_service};
		error |= scope_fork(&scope, &tasks[i]);
	}
	return scope_join(&scope) | error;
}

static void a_service_is_found_again_and_stopped_at_the_end(void **state)
{
	struct executor *executor = start_executor(4);
	struct task tasks[100];

	(void)state;
	services_made = services_stopped = users_counted = 0;
	assert_int_equal(run_in_task(executor, fork_users, tasks), 0);
	executor_destroy(executor);
	assert_in_range(services_made, 1, 101);
	assert_int_equal(services_stopped, services_made);
	assert_int_equal(users_counted, 200);
}

/* Pipes that are watched; each call of ready() is counted. */
struct watched_pipe {
	struct carrier_fd watch;
	struct carrier *carrier;
	struct task *task;
	struct watched_pipe *other; /* to be removed by this one's callback; NULL: none */
	struct watched_pipe *moved; /* to be removed and put back */
	int write_fd;
	unsigned calls;
	uint32_t events;
	int error;
};

static void pipe_ready(struct carrier_fd *watch, uint32_t events)
{
	struct watched_pipe *pipe = (struct watched_pipe *)watch;
	char byte;

	pipe->calls++;
	pipe->events |= events;
	if (pipe->other)
		(void)carrier_watch(pipe->carrier, &pipe->other->watch, 0);
	if (pipe->moved) {
		(void)carrier_watch(pipe->carrier, &pipe->moved->watch, 0);
		pipe->error |= carrier_watch(pipe->carrier, &pipe->moved->watch, EPOLLIN);
	}
	if (read(watch->fd, &byte, 1) <= 0)
		(void)carrier_watch(pipe->carrier, watch, 0);
	task_wake(pipe->task);
}

static int open_watched_pipe(struct watched_pipe *pipe)
{
	int fds[2] = {-1, -1};

	*pipe = (struct watched_pipe){.watch.fd = -1, .write_fd = -1};
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0)
		return -errno;
	*pipe = (struct watched_pipe){
		.watch = {.fd = fds[0], .ready = pipe_ready},
		.carrier = carrier_current(),
		.task = task_current(),
		.write_fd = fds[1],
	};
	return 0;
}

static void close_watched_pipe(struct watched_pipe *pipe)
{
	(void)close(pipe->watch.fd);
	(void)close(pipe->write_fd);
}

static void watch_pipe(struct carrier *carrier, void *arg)
{
	struct watched_pipe *pipe = arg;

	pipe->error = carrier_watch(carrier, &pipe->watch, EPOLLIN);
}

static void unwatch_pipe(struct carrier *carrier, void *arg)
{
	struct watched_pipe *pipe = arg;

	pipe->error |= carrier_watch(carrier, &pipe->watch, 0);
}

static int watch_one(void *arg)
{
	struct watched_pipe pipe;
	int error = open_watched_pipe(&pipe);

	(void)arg;
	if (error < 0)
		return error;
	carrier_call(watch_pipe, &pipe);
	for (unsigned i = 0; i < 50 && pipe.error == 0; i++) {
		if (write(pipe.write_fd, "x", 1) != 1)
			error = -errno;
		while (pipe.calls == i)
			(void)task_park(far_away());
	}
	carrier_call(unwatch_pipe, &pipe);
	/* Not watched any more: nothing is reported. */
	if (write(pipe.write_fd, "x", 1) != 1)
		error = -errno;
	(void)task_sleep_until(deadline_in_ms(5));
	if (pipe.calls != 50 || pipe.error || !(pipe.events & EPOLLIN))
		error = -EPROTO;
	close_watched_pipe(&pipe);
	return error;
}

static void a_watch_is_called_while_its_task_waits(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, watch_one, NULL), 0);
	executor_destroy(executor);
}

static int watch_what_stays_readable(void *arg)
{
	struct watched_pipe pipe;
	int error = open_watched_pipe(&pipe);

	(void)arg;
	if (error < 0 || write(pipe.write_fd, "abc", 3) != 3)
		return -EPROTO;
	carrier_call(watch_pipe, &pipe);
	while (pipe.calls < 3)
		(void)task_park(far_away());
	(void)close(pipe.write_fd);
	pipe.write_fd = -1;
	while (pipe.calls < 4) /* removes itself at the end of file */
		(void)task_park(far_away());
	(void)task_sleep_until(deadline_in_ms(5));
	error = pipe.calls == 4 ? pipe.error : -EPROTO;
	(void)close(pipe.watch.fd);
	return error;
}

static void watches_are_level_triggered_and_may_remove_themselves(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, watch_what_stays_readable, NULL), 0);
	executor_destroy(executor);
}

/* Two are ready in the same batch, and the first to be called removes the other. */
static int remove_each_other(void *arg)
{
	struct watched_pipe a, b;
	int error;

	(void)arg;
	if (open_watched_pipe(&a) < 0 || open_watched_pipe(&b) < 0)
		return -errno;
	a.other = &b;
	b.other = &a;
	if (write(a.write_fd, "x", 1) != 1 || write(b.write_fd, "x", 1) != 1)
		return -errno;
	carrier_call(watch_pipe, &a);
	carrier_call(watch_pipe, &b);
	while (a.calls + b.calls == 0)
		(void)task_park(far_away());
	(void)task_sleep_until(deadline_in_ms(5));
	error = a.calls + b.calls == 1 ? a.error | b.error : -EPROTO;
	carrier_call(unwatch_pipe, &a);
	carrier_call(unwatch_pipe, &b);
	close_watched_pipe(&a);
	close_watched_pipe(&b);
	return error;
}

static void a_watch_removed_within_a_batch_is_not_called(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(run_in_task(executor, remove_each_other, NULL), 0);
	executor_destroy(executor);
}

/* Each callback removes another watch and puts it back, so that all keep changing places. */
static int put_back_each_other(void *arg)
{
	enum { PIPES = 20 };
	struct watched_pipe pipes[PIPES];
	int error = 0;

	(void)arg;
	for (int i = 0; i < PIPES; i++) {
		if (open_watched_pipe(&pipes[i]) < 0)
			return -errno;
		carrier_call(watch_pipe, &pipes[i]);
		error |= pipes[i].error;
	}
	for (int i = 0; i < PIPES; i++) {
		pipes[i].moved = &pipes[(i + 7) % PIPES];
		if (write(pipes[i].write_fd, "xxx", 3) != 3)
			error = -errno;
	}
	for (int i = 0; i < PIPES; i++)
		while (pipes[i].calls < 3)
			(void)task_park(far_away());
	(void)task_sleep_until(deadline_in_ms(5));
	for (int i = 0; i < PIPES; i++) {
		if (pipes[i].calls != 3)
			error = -EPROTO;
		carrier_call(unwatch_pipe, &pipes[i]);
		error |= pipes[i].error;
		close_watched_pipe(&pipes[i]);
	}
	return error;
}

static void watches_may_be_put_back_within_a_batch(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, put_back_each_other, NULL), 0);
	executor_destroy(executor);
}

static void watch_bad_fd(struct carrier *carrier, void *arg)
{
	struct carrier_fd watch = {.fd = 1 << 20, .ready = pipe_ready};

	*(int *)arg = carrier_watch(carrier, &watch, EPOLLIN);
}

static int try_bad_fd(void *arg)
{
	int error = 0;

	(void)arg;
	carrier_call(watch_bad_fd, &error);
	return error;
}

static void a_bad_fd_is_refused(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, try_bad_fd, NULL), -EBADF);
	executor_destroy(executor);
}

/* Timers that note the order in which they fire. */
enum { TIMERS = 50 };

struct clockwork {
	struct task *task;
	struct carrier *carrier;
	unsigned fired;
	int error;
	struct noting_timer {
		struct carrier_timer timer;
		struct clockwork *clockwork;
		struct deadline moment;
		unsigned place;     /* when it fired, from 1 */
		unsigned sets_left; /* how often it sets itself again */
		bool was_early;
	} timers[TIMERS];
};

static void noting_timer_fire(struct carrier_timer *timer)
{
	struct noting_timer *noting = (struct noting_timer *)timer;
	struct clockwork *clockwork = noting->clockwork;

	noting->was_early |= deadline_now_ns() < noting->moment.ns;
	noting->place = ++clockwork->fired;
	if (noting->sets_left > 0) {
		noting->sets_left--;
		noting->moment = deadline_in_ms(1);
		clockwork->error |= carrier_set_timer(clockwork->carrier, timer, noting->moment);
	}
	task_wake(clockwork->task);
}

static void set_timers(struct carrier *carrier, void *arg)
{
	struct clockwork *clockwork = arg;

	clockwork->carrier = carrier;
	for (int i = 0; i < TIMERS; i++) {
		struct noting_timer *noting = &clockwork->timers[i];

		noting->timer.fire = noting_timer_fire;
		noting->clockwork = clockwork;
		clockwork->error |= carrier_set_timer(carrier, &noting->timer, noting->moment);
	}
}

static int wait_for_fired(struct clockwork *clockwork, unsigned count)
{
	while (clockwork->fired < count)
		if (task_park(far_away()) < 0)
			return -EPROTO;
	return clockwork->error;
}

static int run_clockwork(void *arg)
{
	struct clockwork *clockwork = arg;

	clockwork->task = task_current();
	for (int i = 0; i < TIMERS; i++)
		clockwork->timers[i].moment = deadline_in_ns((i * 37 % TIMERS) * 400000LL);
	carrier_call(set_timers, clockwork);
	return wait_for_fired(clockwork, TIMERS);
}

static void timers_fire_in_order_and_not_early(void **state)
{
	struct executor *executor = start_executor(1);
	struct clockwork *clockwork = calloc(1, sizeof(*clockwork));

	(void)state;
	assert_non_null(clockwork);
	assert_int_equal(run_in_task(executor, run_clockwork, clockwork), 0);
	executor_destroy(executor);
	for (int i = 0; i < TIMERS; i++) {
		assert_int_equal(clockwork->timers[i].place, i * 37 % TIMERS + 1);
		assert_false(clockwork->timers[i].was_early);
	}
	free(clockwork);
}

static void unset_odd_timers(struct carrier *carrier, void *arg)
{
	struct clockwork *clockwork = arg;

	for (int i = 1; i < TIMERS; i += 2)
		clockwork->error |=
			carrier_set_timer(carrier, &clockwork->timers[i].timer, DEADLINE_NEVER);
}

static int run_and_unset(void *arg)
{
	struct clockwork *clockwork = arg;

	clockwork->task = task_current();
	for (int i = 0; i < TIMERS; i++)
		clockwork->timers[i].moment = deadline_in_ms(10);
	clockwork->timers[0].sets_left = 5;
	carrier_call(set_timers, clockwork);
	carrier_call(unset_odd_timers, clockwork);
	return wait_for_fired(clockwork, TIMERS / 2 + 5);
}

static void timers_can_be_unset_and_set_again_as_they_fire(void **state)
{
	struct executor *executor = start_executor(1);
	struct clockwork *clockwork = calloc(1, sizeof(*clockwork));

	(void)state;
	assert_non_null(clockwork);
	assert_int_equal(run_in_task(executor, run_and_unset, clockwork), 0);
	executor_destroy(executor);
	for (int i = 0; i < TIMERS; i++) {
		assert_int_equal(clockwork->timers[i].place != 0, i % 2 == 0);
		assert_false(clockwork->timers[i].was_early);
	}
	assert_int_equal(clockwork->timers[0].place, TIMERS / 2 + 5);
	free(clockwork);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_keeps_its_carrier),
		cmocka_unit_test(a_service_is_found_again_and_stopped_at_the_end),
		cmocka_unit_test(a_watch_is_called_while_its_task_waits),
		cmocka_unit_test(watches_are_level_triggered_and_may_remove_themselves),
		cmocka_unit_test(a_watch_removed_within_a_batch_is_not_called),
		cmocka_unit_test(watches_may_be_put_back_within_a_batch),
		cmocka_unit_test(a_bad_fd_is_refused),
		cmocka_unit_test(timers_fire_in_order_and_not_early),
		cmocka_unit_test(timers_can_be_unset_and_set_again_as_they_fire),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
