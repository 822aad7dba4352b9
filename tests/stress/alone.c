#include "tests/stress/alone.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "executors/carrier.h"
#include "executors/io.h"
#include "executors/latch.h"
#include "tests/stress/happenings.h"
#include "tests/with_cmocka.h"

/* Latches that the waker thread counts down. */
struct wake_request {
	struct latch latch;
	struct wake_request *next;
};

static pthread_t waker;
static pthread_mutex_t wakes_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakes_arrived = PTHREAD_COND_INITIALIZER;
static struct wake_request *wake_requests; /* wakes_lock */
static bool no_more_wakes;                 /* wakes_lock */

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

void alone_start(void)
{
	assert_int_equal(pthread_create(&waker, NULL, waker_main, NULL), 0);
}

void alone_finish(void)
{
	pthread_mutex_lock(&wakes_lock);
	no_more_wakes = true;
	pthread_cond_signal(&wakes_arrived);
	pthread_mutex_unlock(&wakes_lock);
	assert_int_equal(pthread_join(waker, NULL), 0);
}

void alone_be_woken_from_outside(uint64_t *state)
{
	struct wake_request request;

	latch_init(&request.latch, 1);
	pthread_mutex_lock(&wakes_lock);
	request.next = wake_requests;
	wake_requests = &request;
	pthread_cond_signal(&wakes_arrived);
	pthread_mutex_unlock(&wakes_lock);
	if (happen_error(latch_wait(&request.latch, draw_deadline(state))) < 0)
		(void)latch_wait_masked(&request.latch, DEADLINE_NEVER);
	latch_finish(&request.latch);
	happen(HAS_WOKEN_FROM_OUTSIDE);
}

static void read_or_wait(uint64_t *state, struct io *io, int other_end)
{
	char byte;
	int error;

	if (draw_below(state, 3) == 0) {
		if (happen_error(io_wait(io, EPOLLIN, draw_deadline(state))) == 0)
			go_wrong("a socket is said to be readable, and nobody has written");
		return;
	}
	if (write(other_end, "x", 1) != 1)
		return;
	error = io_wait(io, EPOLLIN, deadline_in_ms(60000));
	if (error != -ECANCELED && (error < 0 || read(io->fd, &byte, 1) != 1))
		go_wrong("what was written cannot be read");
	happen(HAS_IO_WAITED);
}

void alone_talk_to_itself(uint64_t *state)
{
	int pair[2];
	struct io io;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	if (io_open(&io, pair[0]) < 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return;
	}
	read_or_wait(state, &io, pair[1]);
	io_close(&io);
	(void)close(pair[1]);
}

struct alarm {
	struct carrier_timer timer; /* first */
	struct latch rang;
	struct deadline due;
	bool has_rung; /* the carrier's */
	int error;
};

static void alarm_rings(struct carrier_timer *timer)
{
	struct alarm *alarm = (struct alarm *)timer;

	if (deadline_remaining_ns(alarm->due) > 0)
		go_wrong("a timer fired too early");
	alarm->has_rung = true;
	latch_arrive(&alarm->rang);
}

static void alarm_set(struct carrier *carrier, void *arg)
{
	struct alarm *alarm = arg;

	alarm->error = carrier_set_timer(carrier, &alarm->timer, alarm->due);
}

static void alarm_unset(struct carrier *carrier, void *arg)
{
	struct alarm *alarm = arg;

	(void)carrier_set_timer(carrier, &alarm->timer, DEADLINE_NEVER);
}

void alone_set_alarm(uint64_t *state)
{
	struct alarm alarm = {.timer = {.fire = alarm_rings}, .due = draw_deadline(state)};

	latch_init(&alarm.rang, 1);
	carrier_call(alarm_set, &alarm);
	if (alarm.error == 0 && happen_error(latch_wait(&alarm.rang, draw_deadline(state))) < 0) {
		carrier_call(alarm_unset, &alarm);
		if (alarm.has_rung)
			(void)latch_wait_masked(&alarm.rang, DEADLINE_NEVER);
	}
	happen(alarm.has_rung ? HAS_ALARM_RANG : HAS_ALARM_TAKEN_BACK);
	latch_finish(&alarm.rang);
}

static void wait_for_a_lock(struct deadline until)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec moment = {until.ns / 1000000000, until.ns % 1000000000};

	pthread_mutex_lock(&lock);
	while (pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &moment) == 0)
		continue;
	pthread_mutex_unlock(&lock);
}

static void sleep_in_the_kernel(int64_t ns)
{
	struct timespec left = {.tv_nsec = ns};
	struct deadline end = deadline_in_ns(ns);

	while (nanosleep(&left, &left) < 0) {
		if (errno != EINTR) {
			go_wrong("a sleep in the kernel has failed");
			return;
		}
		happen(HAS_BEEN_INTERRUPTED);
	}
	if (deadline_remaining_ns(end) > 0)
		go_wrong("a sleep in the kernel was cut short");
}

void alone_keep_carrier(uint64_t *state)
{
	int64_t ns = (int64_t)draw_below(state, 4000000);
	struct deadline end = deadline_in_ns(ns);
	const struct task *self = task_current();
	pid_t thread = gettid();
	int mark = (int)draw_below(state, 1000) + 1;

	switch (draw_below(state, 3)) {
	case 0:
		sleep_in_the_kernel(ns);
		break;
	case 1:
		wait_for_a_lock(end);
		break;
	default:
		while (deadline_remaining_ns(end) > 0)
			continue;
		break;
	}
	errno = mark;
	task_yield();
	if (errno != mark)
		go_wrong("errno has changed with the pthread");
	if (task_current() != self)
		go_wrong("a task that came back is another one");
	if (gettid() != thread)
		happen(HAS_CHANGED_THREAD);
}
