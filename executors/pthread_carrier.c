#include "executors/pthread_carrier.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "executors/executor_ops.h"

enum {
	INITIAL_CAPACITY = 4,
	/* How long a wake can go unseen while the process has no descriptor left for an eventfd. */
	SLICE_NS = 10 * 1000 * 1000,
};

/* Events are passed on as they are. */
_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLRDHUP == POLLRDHUP, "same events");
_Static_assert(EPOLLERR == POLLERR && EPOLLHUP == POLLHUP && EPOLLPRI == POLLPRI, "same events");

static struct timespec as_timespec(int64_t ns)
{
	if (ns < 0)
		ns = 0; /* long past; the kernel refuses it */
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* True if a wake had been noted. The permit is NONE afterwards. */
static bool consume_permit(struct task *task)
{
	return atomic_exchange_explicit(&task->permit, PERMIT_NONE, memory_order_acq_rel) ==
	       PERMIT_NOTED;
}

/* False if a wake has been noted instead. */
static bool change_permit_from_none(struct task *task, unsigned to)
{
	unsigned expected = PERMIT_NONE;

	return atomic_compare_exchange_strong_explicit(&task->permit, &expected, to,
	                                               memory_order_acq_rel, memory_order_acquire);
}

static bool wait_on_futex(struct task *task, struct deadline until)
{
	struct timespec moment = as_timespec(until.ns);
	const struct timespec *timeout = until.ns == DEADLINE_NEVER.ns ? NULL : &moment;

	if (!change_permit_from_none(task, PERMIT_PARKED))
		return consume_permit(task);
	while (atomic_load_explicit(&task->permit, memory_order_acquire) == PERMIT_PARKED) {
		/* BITSET for its absolute timeout, on CLOCK_MONOTONIC; see futex(2). */
		long error = syscall(SYS_futex, &task->permit, FUTEX_WAIT_BITSET_PRIVATE,
		                     PERMIT_PARKED, timeout, NULL, FUTEX_BITSET_MATCH_ANY);

		if (error < 0 && errno == ETIMEDOUT)
			break;
	}
	return consume_permit(task);
}

static void make_eventfd(struct pthread_carrier *carrier)
{
	if (carrier->eventfd < 0)
		carrier->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	carrier->polled[0] = (struct pollfd){.fd = carrier->eventfd, .events = POLLIN};
}

static void poll_until(struct pthread_carrier *carrier, struct deadline until)
{
	struct timespec left = as_timespec(deadline_remaining_ns(until));
	const struct timespec *timeout = until.ns == DEADLINE_NEVER.ns ? NULL : &left;

	/* EINTR, and ENOMEM likewise, is a spurious return that leaves old revents behind. */
	if (ppoll(carrier->polled, carrier->count, timeout, NULL) < 0)
		for (unsigned slot = 0; slot < carrier->count; slot++)
			carrier->polled[slot].revents = 0;
}

static bool wait_in_poll(struct pthread_carrier *carrier, struct task *task, struct deadline until)
{
	uint64_t wakes;

	make_eventfd(carrier);
	if (carrier->eventfd < 0) {
		/* Nobody can interrupt this: look at the permit between short waits. */
		if (atomic_load_explicit(&task->permit, memory_order_acquire) == PERMIT_NONE)
			poll_until(carrier, deadline_earlier(until, deadline_in_ns(SLICE_NS)));
	} else if (change_permit_from_none(task, PERMIT_POLLING)) {
		poll_until(carrier, until);
	}
	/* From here on a waker does not write. One that saw POLLING may still be about to: that
	 * makes a later poll return early. */
	if (carrier->polled[0].revents)
		(void)!read(carrier->eventfd, &wakes, sizeof(wakes));
	return consume_permit(task);
}

static void disarm(struct pthread_carrier *carrier, unsigned slot)
{
	struct pollfd *polled = &carrier->polled[slot];

	if (polled->fd >= 0) {
		polled->fd = ~polled->fd;
		carrier->armed--;
	}
	polled->revents = 0;
}

/* From the last to the first, since removing a watch moves the last one into its place: what is
 * moved down then has been served already, and has no revents any more. */
static void serve_ready(struct pthread_carrier *carrier)
{
	for (unsigned slot = carrier->count; slot-- > 1;) {
		struct carrier_fd *watch;
		uint32_t events;

		/* A callback may have removed several. */
		if (slot >= carrier->count || !carrier->polled[slot].revents)
			continue;
		watch = carrier->watches[slot];
		events = (uint16_t)carrier->polled[slot].revents;
		assert(!(events & POLLNVAL)); /* the fd was closed while watched */
		carrier->polled[slot].revents = 0;
		if (watch->events & EPOLLET)
			disarm(carrier, slot);
		watch->ready(watch, events);
	}
}

void pthread_carrier_serve_timers(struct pthread_carrier *carrier)
{
	assert(!carrier->is_in_callback);
	carrier->is_in_callback = true;
	carrier_fire_timers(&carrier->carrier, deadline_now_ns());
	carrier->is_in_callback = false;
}

int pthread_carrier_park(struct task *task, struct deadline deadline)
{
	struct pthread_carrier *carrier = task->seat;
	atomic_uint *parked = &task->executor->parked;
	int saved_errno = errno;
	bool is_noted, is_over;

	assert(!carrier->is_in_callback);
	atomic_fetch_add_explicit(parked, 1, memory_order_relaxed);
	pthread_seat_begin_wait(&carrier->seat, deadline);
	do {
		struct deadline until =
			deadline_earlier(deadline, carrier_next_timer(&carrier->carrier));
		bool is_polling = carrier->armed > 0;
		int64_t now_ns;

		is_noted = is_polling ? wait_in_poll(carrier, task, until)
		                      : wait_on_futex(task, until);
		carrier->is_in_callback = true;
		if (is_polling)
			serve_ready(carrier);
		now_ns = deadline_now_ns();
		carrier_fire_timers(&carrier->carrier, now_ns);
		carrier->is_in_callback = false;
		is_noted |= consume_permit(task);
		is_over = now_ns >= deadline.ns;
	} while (!is_noted && !is_over);
	pthread_seat_end_wait(&carrier->seat);
	atomic_fetch_sub_explicit(parked, 1, memory_order_relaxed);
	errno = saved_errno;
	return is_noted ? 0 : -ETIMEDOUT;
}

void pthread_carrier_unpark(struct task *task, unsigned state)
{
	struct pthread_carrier *carrier = task->seat;
	int saved_errno = errno;
	uint64_t one = 1;

	if (state == PERMIT_PARKED)
		(void)syscall(SYS_futex, &task->permit, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	else /* EAGAIN, the counter is full, is as good. */
		(void)!write(carrier->eventfd, &one, sizeof(one));
	errno = saved_errno;
}

void pthread_carrier_yield(struct task *task)
{
	(void)task;
	(void)sched_yield();
}

struct carrier *pthread_carrier_of(struct task *task)
{
	struct pthread_carrier *carrier = task->seat;

	return &carrier->carrier;
}

static void pthread_carrier_call(struct carrier *base, struct task *task,
                                 void (*fn)(struct carrier *carrier, void *arg), void *arg)
{
	struct pthread_carrier *carrier = (struct pthread_carrier *)base;

	(void)task;
	assert(!carrier->is_in_callback);
	carrier->is_in_callback = true;
	fn(base, arg);
	carrier->is_in_callback = false;
}

static int reserve_slot(struct pthread_carrier *carrier)
{
	unsigned capacity = carrier->capacity ? 2 * carrier->capacity : INITIAL_CAPACITY;
	struct carrier_fd **watches;
	struct pollfd *polled;

	if (carrier->count < carrier->capacity)
		return 0;
	polled = reallocarray(carrier->polled, capacity, sizeof(*polled));
	if (!polled)
		return -ENOMEM;
	carrier->polled = polled;
	watches = reallocarray(carrier->watches, capacity, sizeof(*watches));
	if (!watches)
		return -ENOMEM;
	carrier->watches = watches;
	carrier->capacity = capacity;
	return 0;
}

static int add_watch(struct pthread_carrier *carrier, struct carrier_fd *watch)
{
	struct stat status;
	int error;

	/* The errors that epoll_ctl(2) would give. */
	if (fstat(watch->fd, &status) < 0)
		return -errno;
	if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
		return -EPERM;
	error = reserve_slot(carrier);
	if (error < 0)
		return error;
	watch->slot = carrier->count++;
	carrier->watches[watch->slot] = watch;
	carrier->polled[watch->slot] = (struct pollfd){.fd = ~watch->fd};
	return 0;
}

static void remove_watch(struct pthread_carrier *carrier, struct carrier_fd *watch)
{
	unsigned last;

	if (!watch->events)
		return;
	disarm(carrier, watch->slot);
	last = --carrier->count;
	carrier->polled[watch->slot] = carrier->polled[last];
	carrier->watches[watch->slot] = carrier->watches[last];
	carrier->watches[watch->slot]->slot = watch->slot;
	watch->events = 0;
}

static void pthread_carrier_arm(struct carrier *base, struct carrier_fd *watch, uint32_t events)
{
	struct pthread_carrier *carrier = (struct pthread_carrier *)base;
	struct pollfd *polled = &carrier->polled[watch->slot];

	if (!events) {
		disarm(carrier, watch->slot);
		return;
	}
	if (polled->fd < 0) {
		polled->fd = watch->fd;
		carrier->armed++;
	}
	polled->events = (short)events;
	/* If this is a change while a batch is served: what was reported and is still wanted. */
	polled->revents = (short)(polled->revents & (int)(events | POLLERR | POLLHUP));
}

static uint32_t pthread_carrier_look(struct carrier *base, const struct carrier_fd *watch)
{
	struct pollfd polled = {.fd = watch->fd, .events = POLLIN | POLLRDHUP};

	(void)base;
	return poll(&polled, 1, 0) > 0 ? (uint16_t)polled.revents : 0;
}

/* It has no turns. */
static int64_t pthread_carrier_now_ns(struct carrier *base)
{
	(void)base;
	return deadline_now_ns();
}

static int pthread_carrier_watch(struct carrier *base, struct carrier_fd *watch, uint32_t events)
{
	struct pthread_carrier *carrier = (struct pthread_carrier *)base;
	int error;

	if (!events) {
		remove_watch(carrier, watch);
		return 0;
	}
	error = watch->events ? 0 : add_watch(carrier, watch);
	if (error < 0)
		return error;
	watch->events = events;
	if (!(events & EPOLLET))
		pthread_carrier_arm(base, watch, events);
	return 0;
}

static const struct carrier_ops pthread_carrier_ops = {
	.call = pthread_carrier_call,
	.call_small = pthread_carrier_call,
	.watch = pthread_carrier_watch,
	.arm = pthread_carrier_arm,
	.look = pthread_carrier_look,
	.now_ns = pthread_carrier_now_ns,
};

void pthread_carrier_init(struct pthread_carrier *carrier, struct pthread_seats *seats)
{
	*carrier = (struct pthread_carrier){.count = 1, .eventfd = -1};
	pthread_seat_open(&carrier->seat, seats);
	carrier_init(&carrier->carrier, &pthread_carrier_ops);
}

void pthread_carrier_finish(struct pthread_carrier *carrier)
{
	pthread_seat_close(&carrier->seat);
	carrier_finish(&carrier->carrier);
	assert(carrier->count == 1);
	if (carrier->eventfd >= 0)
		(void)close(carrier->eventfd);
	free(carrier->polled);
	free(carrier->watches);
}

int pthread_carrier_run(struct pthread_carrier *carrier, struct task *task)
{
	struct task *outer = task_current();
	struct seated seated;
	int result;

	task_set_current(task);
	task_begin(task, carrier);
	pthread_seat_enter(&carrier->seat, &seated, task);
	result = task->run(task);
	pthread_seat_leave(&carrier->seat);
	task_set_current(outer);
	return result;
}
