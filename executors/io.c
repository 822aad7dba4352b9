#include "executors/io.h"

#include <assert.h>
#include <stddef.h>
#include <unistd.h>

#include "executors/carrier_ops.h"

/*
 * The poller is edge-triggered: it reports a change once. io->ready keeps what it
 * reported until a wait consumes it, before the read or write that follows.
 * Nothing clears it after EAGAIN: an edge that came between the read and the
 * clearing would be lost. The price is a spurious return now and then.
 */

#define FAILED (EPOLLERR | EPOLLHUP)

/* What ends a wait for @events. A half-closed peer does not make a socket writable. */
static uint32_t io_ends(uint32_t events)
{
	return events | FAILED | (events & EPOLLIN ? EPOLLRDHUP : 0);
}

static void io_ready(struct carrier_fd *watch, uint32_t events)
{
	struct io *io = (struct io *)((char *)watch - offsetof(struct io, watch));

	io->ready |= events;
	if (io->waiter && (io->ready & io_ends(io->wanted))) {
		task_wake(io->waiter);
		io->waiter = NULL;
	}
}

struct io_step {
	struct io *io;
	uint32_t events;
	struct task *task;
	int result;
};

static void io_register(struct carrier *carrier, void *arg)
{
	struct io_step *step = arg;

	step->result = carrier_watch_edges(carrier, &step->io->watch);
}

static void io_unregister(struct carrier *carrier, void *arg)
{
	struct io *io = arg;

	(void)carrier;
	io_detach(io);
}

/* Consume what is ready, or leave word that @task waits. */
static void io_begin_wait(struct carrier *carrier, void *arg)
{
	struct io_step *step = arg;
	struct io *io = step->io;

	io->waiter = NULL;
	step->result = (io->ready & io_ends(step->events)) != 0;
	io->ready &= ~step->events;
	if (step->result)
		return;
	io->wanted = step->events;
	io->waiter = step->task;
	carrier->ops->arm(carrier, &io->watch, step->events);
}

static void io_end_wait(struct carrier *carrier, void *arg)
{
	struct io *io = arg;

	io->waiter = NULL;
	carrier->ops->arm(carrier, &io->watch, 0);
}

int io_open(struct io *io, int fd)
{
	struct io_step step = {.io = io};

	*io = (struct io){.fd = fd, .carrier = carrier_current()};
	io->watch = (struct carrier_fd){.fd = fd, .ready = io_ready};
	carrier_call_small(io_register, &step);
	return step.result;
}

int io_wait_at(struct io *io, uint32_t events, struct wait_site site, struct deadline deadline)
{
	struct io_step step = {.io = io, .events = events, .task = task_current()};

	assert(io->carrier == carrier_current());
	for (;;) {
		int error;

		carrier_call_small(io_begin_wait, &step);
		if (step.result)
			return 0;
		error = task_park_at(site, deadline);
		if (error < 0) {
			carrier_call_small(io_end_wait, io);
			return error;
		}
	}
}

int io_wait(struct io *io, uint32_t events, struct deadline deadline)
{
	struct wait_site site = {
		.kind = events & EPOLLIN ? WAIT_READABLE : WAIT_WRITABLE,
		.detail = (unsigned)io->fd,
	};

	return io_wait_at(io, events, site, deadline);
}

void io_close(struct io *io)
{
	assert(!io->waiter);
	carrier_call_small(io_unregister, io);
	(void)close(io->fd); /* Linux closes it whatever it returns */
	io->fd = -1;
}

uint32_t io_pending(struct io *io)
{
	struct carrier *carrier = io->carrier;

	assert(!io->waiter);
	return io->ready | carrier->ops->look(carrier, &io->watch);
}

void io_detach(struct io *io)
{
	assert(!io->waiter);
	(void)carrier_watch(io->carrier, &io->watch, 0);
}

int io_take_away(const struct io *io)
{
	carrier_take_away(io->carrier, &io->watch);
	return io->fd;
}

void io_forget(struct io *io)
{
	carrier_forget(io->carrier, &io->watch);
}
