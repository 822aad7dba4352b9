#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/executor.h"
#include "executors/io.h"
#include "executors/latch.h"
#include "executors/mutex.h"
#include "executors/scope.h"
#include "executors/semaphore.h"
#include "tests/with_cmocka.h"

/*
 *	test_stress EXECUTOR [SECONDS [SEED]]
 *
 * Threads submit requests made of random forks, parks, wakes, timeouts and
 * cancellations for some seconds. Nothing may be lost: every task that was
 * admitted has ended, and what tasks share is as it was at the start.
 */

enum { SUBMITTERS = 3, PERMITS = 5, MOST_CHILDREN = 30, DEEPEST = 2 };

static const char *executor_name_under_test;
static unsigned seconds = 2;
static uint64_t seed;

static struct executor *executor;
static atomic_bool is_over;

/* Relaxed all: compared once everything has ended. */
static atomic_ullong roots_admitted, roots_ended, children_forked, children_ran, children_never_ran;
static atomic_ullong refused, wrong_results;

static struct task_semaphore semaphore;
static atomic_int inside_semaphore;
static struct task_mutex mutex;
static uint64_t under_mutex; /* mutex */
static atomic_ullong mutex_entries;

/* Latches that the waker thread counts down. */
struct wake_request {
	struct latch latch;
	struct wake_request *next;
};

static pthread_mutex_t wakes_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakes_arrived = PTHREAD_COND_INITIALIZER;
static struct wake_request *wake_requests; /* wakes_lock */
static bool no_more_wakes;                 /* wakes_lock */

static void count(atomic_ullong *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* splitmix64; each task draws from a state of its own. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned draw_below(uint64_t *state, unsigned limit)
{
	return (unsigned)(draw(state) % limit);
}

static struct deadline draw_deadline(uint64_t *state)
{
	return deadline_in_ns(draw_below(state, 500000));
}

static void *waker_main(void *arg)
{
	struct wake_request *request;

	(void)arg;
	pthread_mutex_lock(&wakes_lock);
	while (wake_requests || !no_more_wakes) {
		request = wake_requests;
		if (!request) {
			pthread_cond_wait(&wakes_arrived, &wakes_lock);
			continue;
		}
		wake_requests = request->next;
		pthread_mutex_unlock(&wakes_lock);
		latch_arrive(&request->latch);
		pthread_mutex_lock(&wakes_lock);
	}
	pthread_mutex_unlock(&wakes_lock);
	return NULL;
}

static void be_woken_from_outside(uint64_t *state)
{
	struct wake_request request;

	latch_init(&request.latch, 1);
	pthread_mutex_lock(&wakes_lock);
	request.next = wake_requests;
	wake_requests = &request;
	pthread_cond_signal(&wakes_arrived);
	pthread_mutex_unlock(&wakes_lock);
	if (latch_wait(&request.latch, draw_deadline(state)) < 0)
		(void)latch_wait_masked(&request.latch, DEADLINE_NEVER);
	latch_finish(&request.latch);
}

static void pass_semaphore(uint64_t *state)
{
	if (task_semaphore_acquire(&semaphore, draw_deadline(state)) < 0)
		return;
	if (atomic_fetch_add(&inside_semaphore, 1) >= PERMITS)
		count(&wrong_results);
	if (draw_below(state, 2))
		(void)task_park(draw_deadline(state));
	atomic_fetch_sub(&inside_semaphore, 1);
	task_semaphore_release(&semaphore);
}

static void pass_mutex(uint64_t *state)
{
	uint64_t seen;

	if (task_mutex_lock(&mutex, draw_deadline(state)) < 0)
		return;
	seen = under_mutex;
	if (draw_below(state, 4) == 0)
		task_yield();
	under_mutex = seen + 1;
	count(&mutex_entries);
	task_mutex_unlock(&mutex);
}

/* Both ends are this task's; what is written may be read, or the wait for it cut short. */
static void talk_to_itself(uint64_t *state)
{
	int pair[2];
	struct io io;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	if (io_open(&io, pair[0]) < 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return;
	}
	if (draw_below(state, 3) == 0) {
		if (io_wait(&io, EPOLLIN, draw_deadline(state)) == 0)
			count(&wrong_results); /* nobody has written */
	} else if (write(pair[1], "x", 1) == 1) {
		int error = io_wait(&io, EPOLLIN, deadline_in_ms(60000));

		if (error != -ECANCELED && (error < 0 || read(io.fd, &byte, 1) != 1))
			count(&wrong_results);
	}
	io_close(&io);
	(void)close(pair[1]);
}

/* Keep the carrier for up to 4 ms, which is beyond the threshold: in the kernel, or computing.
 * errno goes with the task to wherever it rejoins. */
static void keep_carrier(uint64_t *state)
{
	int64_t ns = (int64_t)draw_below(state, 4000000);
	struct timespec left = {.tv_nsec = ns};
	struct deadline end = deadline_in_ns(ns);
	int mark = (int)draw_below(state, 1000) + 1;

	if (draw_below(state, 2))
		(void)nanosleep(&left, NULL);
	else
		while (deadline_remaining_ns(end) > 0)
			continue;
	errno = mark;
	task_yield();
	if (errno != mark)
		count(&wrong_results);
}

struct child {
	struct task task;
	uint64_t state;
	int depth;
	bool has_run;
};

static int run_scope(uint64_t *state, int depth);

static int child_run(struct task *task)
{
	struct child *child = (struct child *)task;

	child->has_run = true;
	count(&children_ran);
	for (unsigned steps = draw_below(&child->state, 4); steps > 0; steps--) {
		switch (draw_below(&child->state, 8)) {
		case 0:
			task_yield();
			break;
		case 1:
			(void)task_park(draw_deadline(&child->state));
			break;
		case 2:
			be_woken_from_outside(&child->state);
			break;
		case 3:
			pass_semaphore(&child->state);
			break;
		case 4:
			pass_mutex(&child->state);
			break;
		case 5:
			talk_to_itself(&child->state);
			break;
		case 6:
			if (draw_below(&child->state, 50) == 0)
				scope_cancel(task->scope, CANCEL_SIBLING_DONE);
			else if (draw_below(&child->state, 50) == 0)
				keep_carrier(&child->state);
			break;
		default:
			if (child->depth < DEEPEST)
				(void)run_scope(&child->state, child->depth + 1);
			break;
		}
	}
	return 1;
}

/* A child that was forked has run, or its result says why not. */
static void judge(const struct child *child)
{
	if (!child->has_run)
		count(&children_never_ran);
	if (child->has_run ? child->task.result != 1
	                   : child->task.result != -ECANCELED && child->task.result != -EAGAIN)
		count(&wrong_results);
}

static int run_scope(uint64_t *state, int depth)
{
	unsigned size = draw_below(state, depth == 0 ? MOST_CHILDREN : 4), forked = 0;
	struct scope_options options = {.max_parallel = draw_below(state, 5)};
	struct child *children = calloc(size + 1, sizeof(*children));
	struct scope scope;
	int error;

	if (!children)
		return -ENOMEM;
	if (draw_below(state, 3) == 0)
		options.deadline = draw_deadline(state);
	scope_open(&scope, &options);
	for (unsigned i = 0; i < size; i++) {
		struct child *child = &children[forked];

		*child = (struct child){
			.task = {.run = child_run}, .state = draw(state), .depth = depth};
		error = scope_fork(&scope, &child->task);
		forked += error == 0;
		if (error == -EAGAIN)
			count(&refused);
	}
	if (draw_below(state, 10) == 0)
		scope_cancel(&scope, CANCEL_SIBLING_DONE);
	error = scope_join(&scope);
	for (unsigned i = 0; i < forked; i++)
		judge(&children[i]);
	atomic_fetch_add_explicit(&children_forked, forked, memory_order_relaxed);
	free(children);
	return error;
}

/* Freed by the second of two: the task's end, and the submitter that may cancel it. */
struct request {
	struct task task;
	struct cancel cancel;
	uint64_t state;
	atomic_uint holders;
};

static void request_release(struct request *request)
{
	if (atomic_fetch_sub(&request->holders, 1) > 1)
		return;
	cancel_finish(&request->cancel);
	free(request);
}

static int request_run(struct task *task)
{
	return run_scope(&((struct request *)task)->state, 0);
}

static void request_done(struct task *task)
{
	count(&roots_ended);
	request_release((struct request *)task);
}

/* True if it was admitted. */
static bool submit_one(uint64_t *state)
{
	struct request *request = calloc(1, sizeof(*request));

	assert_non_null(request);
	request->task =
		(struct task){.run = request_run, .done = request_done, .cancel = &request->cancel};
	request->state = draw(state);
	atomic_init(&request->holders, 2);
	cancel_init(&request->cancel, NULL);
	if (executor_submit(executor, &request->task) < 0) {
		atomic_store(&request->holders, 1);
		request_release(request);
		count(&refused);
		return false;
	}
	count(&roots_admitted);
	if (draw_below(state, 8) == 0) {
		(void)sched_yield();
		cancel_fire(&request->cancel, CANCEL_CLIENT_GONE);
	}
	request_release(request);
	return true;
}

static void *submitter_main(void *arg)
{
	uint64_t state = seed + *(unsigned *)arg;

	while (!atomic_load(&is_over))
		if (!submit_one(&state))
			(void)sched_yield();
	return NULL;
}

static struct executor_options draw_options(uint64_t *state)
{
	return (struct executor_options){
		.threads = strcmp(executor_name_under_test, "pool") == 0 ? 32 : 4,
		.max_tasks = 300,
		.max_threads = 200,
		.max_queued = 50,
		.when_full = (enum when_full)draw_below(state, 3),
		.stack_bytes = 65536,
		.spare_drivers = 64,
		.pinned_threshold_ms = 1,
	};
}

static unsigned long long pinned;

static void count_pinned(void)
{
	struct pinned_event events[16];
	uint64_t next = 0;

	while (executor_pinned_events(executor, &next, events, 16) > 0)
		continue;
	pinned = next;
}

/* Load comes and goes in the meantime: the number of carriers does, too. */
static void let_time_pass(uint64_t *state)
{
	struct deadline end = deadline_in_ms(1000LL * seconds);

	while (deadline_remaining_ns(end) > 0) {
		int error = executor_resize(executor, 1 + draw_below(state, 4));

		assert_int_equal(error, 0);
		(void)poll(NULL, 0, 20);
	}
	atomic_store(&is_over, true);
}

static void nothing_is_lost_under_random_load(void **test_state)
{
	pthread_t waker, submitters[SUBMITTERS];
	unsigned numbers[SUBMITTERS];
	struct executor_options options;
	struct executor_stats stats;
	uint64_t state = seed;

	(void)test_state;
	options = draw_options(&state);
	task_semaphore_init(&semaphore, PERMITS);
	task_mutex_init(&mutex);
	assert_int_equal(executor_create(executor_name_under_test, &options, &executor), 0);
	assert_int_equal(pthread_create(&waker, NULL, waker_main, NULL), 0);
	for (unsigned i = 0; i < SUBMITTERS; i++) {
		numbers[i] = i + 1;
		assert_int_equal(pthread_create(&submitters[i], NULL, submitter_main, &numbers[i]),
		                 0);
	}
	let_time_pass(&state);
	for (unsigned i = 0; i < SUBMITTERS; i++)
		assert_int_equal(pthread_join(submitters[i], NULL), 0);
	/* The last roots are still on their way; their forks count, too. */
	do {
		(void)sched_yield();
		executor_stats(executor, &stats);
	} while (stats.live > 0);
	count_pinned();
	executor_destroy(executor);
	pthread_mutex_lock(&wakes_lock);
	no_more_wakes = true;
	pthread_cond_signal(&wakes_arrived);
	pthread_mutex_unlock(&wakes_lock);
	assert_int_equal(pthread_join(waker, NULL), 0);

	print_message("# %llu roots, %llu children, %llu of them never ran, %llu refused, "
	              "%llu carriers kept\n",
	              roots_ended, children_forked, children_never_ran, refused, pinned);
	assert_int_equal(wrong_results, 0);
	assert_true(roots_admitted > 0);
	assert_int_equal(roots_ended, roots_admitted);
	assert_int_equal(children_ran + children_never_ran, children_forked);
	assert_int_equal(stats.submitted, roots_admitted + children_forked);
	assert_int_equal(stats.refused, refused);
	assert_int_equal(stats.parked, 0);
	assert_int_equal(inside_semaphore, 0);
	assert_int_equal(semaphore.permits, PERMITS);
	assert_int_equal(under_mutex, mutex_entries);
	task_mutex_finish(&mutex);
	task_semaphore_finish(&semaphore);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost_under_random_load)};

	if (argc < 2 || argc > 4) {
		(void)fprintf(stderr, "usage: %s EXECUTOR [SECONDS [SEED]]\n", argv[0]);
		return EXIT_FAILURE;
	}
	executor_name_under_test = argv[1];
	if (argc > 2)
		seconds = (unsigned)strtoul(argv[2], NULL, 10);
	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)deadline_now_ns();
	print_message("# %s, %u s, seed %" PRIu64 "\n", argv[1], seconds, seed);
	return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
