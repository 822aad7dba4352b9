#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/io.h"
#include "tests/contract/over_executor.h"

/* File descriptors that nobody waits for, but that are kept: io_pending(), io_detach(). */

struct looking {
	int pair[2];
	uint32_t quiet, with_byte, still_with_byte, after_wait, closed;
	int read;
};

struct look {
	struct io *io;
	uint32_t events;
};

static void look(struct carrier *carrier, void *arg)
{
	struct look *self = arg;

	(void)carrier;
	self->events = io_pending(self->io) & ~(uint32_t)EPOLLOUT;
}

/* A while later, so that the carrier has looked at its poller. */
static uint32_t pending_of(struct io *io)
{
	struct look self = {.io = io};

	(void)task_sleep_until(deadline_in_ms(20));
	carrier_call(look, &self);
	return self.events;
}

static int look_at_all(void *arg)
{
	struct looking *self = arg;
	struct io io;
	char byte;

	if (io_open(&io, self->pair[0]) < 0)
		return -1;
	self->quiet = pending_of(&io);
	self->read = (int)write(self->pair[1], "x", 1);
	self->with_byte = pending_of(&io);
	self->still_with_byte = pending_of(&io);
	if (io_wait(&io, EPOLLIN, deadline_in_ms(10000)) < 0)
		return -1;
	self->read = (int)read(io.fd, &byte, 1);
	self->after_wait = pending_of(&io);
	(void)close(self->pair[1]);
	self->closed = pending_of(&io);
	io_close(&io);
	return 0;
}

static void what_is_pending_is_told_until_a_wait_consumes_it(void **state)
{
	struct executor *executor = start_executor(1);
	struct looking self;

	(void)state;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, self.pair), 0);
	assert_int_equal(run_in_task(executor, look_at_all, &self), 0);
	assert_int_equal(self.quiet, 0);
	assert_int_equal(self.with_byte, EPOLLIN);
	assert_int_equal(self.still_with_byte, EPOLLIN);
	assert_int_equal(self.read, 1);
	assert_int_equal(self.after_wait, 0);
	assert_true(self.closed & EPOLLRDHUP);
	executor_destroy(executor);
}

struct passing {
	int pair[2];
	int result;
	char byte;
};

static void detach(struct carrier *carrier, void *arg)
{
	(void)carrier;
	io_detach(arg);
}

static int open_and_detach(void *arg)
{
	struct passing *self = arg;
	struct io io;

	self->result = io_open(&io, self->pair[0]);
	if (self->result < 0)
		return 0;
	/* One that has waited, and so was armed. */
	self->result = io_wait(&io, EPOLLIN, deadline_in_ms(1));
	carrier_call(detach, &io);
	return 0;
}

static int open_and_read(void *arg)
{
	struct passing *self = arg;
	struct io io;

	self->result = io_open(&io, self->pair[0]);
	if (self->result < 0)
		return 0;
	self->result = io_wait(&io, EPOLLIN, deadline_in_ms(10000));
	if (self->result == 0)
		self->result = (int)read(io.fd, &self->byte, 1);
	io_close(&io);
	return 0;
}

static void a_detached_fd_can_be_opened_on_another_carrier(void **state)
{
	struct executor *first = start_executor(1), *second = start_executor(1);
	struct passing self = {0};

	(void)state;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, self.pair), 0);
	assert_int_equal(run_in_task(first, open_and_detach, &self), 0);
	assert_int_equal(self.result, -ETIMEDOUT);
	assert_int_equal(write(self.pair[1], "x", 1), 1);
	assert_int_equal(run_in_task(second, open_and_read, &self), 0);
	assert_int_equal(self.result, 1);
	assert_int_equal(self.byte, 'x');
	assert_int_equal(close(self.pair[1]), 0);
	executor_destroy(first);
	executor_destroy(second);
}

struct times {
	int64_t carrier_ns, clock_ns;
};

static void read_times(struct carrier *carrier, void *arg)
{
	struct times *times = arg;

	times->carrier_ns = carrier_now_ns(carrier);
	times->clock_ns = deadline_now_ns();
}

static int read_times_twice(void *arg)
{
	struct times *times = arg;

	carrier_call(read_times, &times[0]);
	(void)task_sleep_until(deadline_in_ms(50));
	carrier_call(read_times, &times[1]);
	return 0;
}

static void a_carrier_knows_the_time(void **state)
{
	struct executor *executor = start_executor(1);
	struct times times[2];

	(void)state;
	assert_int_equal(run_in_task(executor, read_times_twice, times), 0);
	for (int i = 0; i < 2; i++)
		assert_in_range(times[i].clock_ns - times[i].carrier_ns, 0, 1000000000);
	assert_true(times[1].carrier_ns - times[0].carrier_ns >= 50000000);
	executor_destroy(executor);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_pending_is_told_until_a_wait_consumes_it),
		cmocka_unit_test(a_detached_fd_can_be_opened_on_another_carrier),
		cmocka_unit_test(a_carrier_knows_the_time),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
