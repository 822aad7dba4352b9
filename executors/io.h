#ifndef EXECUTORS_IO_H
#define EXECUTORS_IO_H

#include <stdint.h>

#include "executors/carrier.h"
#include "executors/task.h"

/*
 * Waiting for a file descriptor in blocking code:
 *
 *	while ((got = read(io.fd, buffer, size)) < 0 && errno == EAGAIN)
 *		if ((error = io_wait(&io, EPOLLIN, deadline)) < 0)
 *			return error;
 *
 * An fd is registered with its carrier's poller once in its life, edge-triggered;
 * what has become ready since it was last waited for is remembered here.
 */
struct io {
	int fd; /* constant while open */

	/* For io.c. */
	struct carrier *carrier;
	struct carrier_fd watch;
	uint32_t ready;      /* events seen and not yet consumed by io_wait(); on the carrier */
	uint32_t wanted;     /* what @waiter waits for; on the carrier */
	struct task *waiter; /* on the carrier; NULL while nobody waits */
};

/**
 * Register @fd, which must be non-blocking, with the calling task's carrier. It
 * belongs to that carrier from now on: only its tasks may use @io, one at a time.
 *
 * Task only. Returns 0, -ENOMEM, -ENOSPC or -EPERM (a regular file); @fd stays
 * the caller's then.
 */
int io_open(struct io *io, int fd);

/**
 * Wait until @io may be readable (EPOLLIN) or writable (EPOLLOUT), or has an
 * error or hang-up, which the next read or write shows.
 *
 * Call it after EAGAIN, not before: a readiness that was reported and not used
 * up makes it return at once, perhaps spuriously.
 *
 * Task only; parks. Returns 0, -ETIMEDOUT or -ECANCELED.
 */
int io_wait(struct io *io, uint32_t events, struct deadline deadline);

/** The same, saying what for. */
int io_wait_at(struct io *io, uint32_t events, struct wait_site site, struct deadline deadline);

/** Unregister and close the fd. Nobody may be waiting for it. Task only. */
void io_close(struct io *io);

/* For an @io that nobody waits for, on its carrier: see carrier_call(). */

/**
 * What has become ready, as far as the carrier has been told, and not yet been consumed by a wait:
 * for fds that are idle. It is not consumed. May be of what was read before it was reported.
 */
uint32_t io_pending(struct io *io);

/** Unregister the fd, which stays io->fd and is the caller's from now on. */
void io_detach(struct io *io);

/** Take the fd of @io, which nobody waits for, away from its carrier: it is the caller's from now
 * on. @io stays until its carrier says io_forget(). If carrier_can_take_away(); any thread, at a
 * time when nobody else uses @io. */
int io_take_away(const struct io *io);

/** An @io whose fd was taken away is over. On its carrier. */
void io_forget(struct io *io);

#endif
