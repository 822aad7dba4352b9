#ifndef EXECUTORS_CARRIER_H
#define EXECUTORS_CARRIER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "executors/deadline.h"
#include "executors/timer_heap.h"

/*
 * A carrier is where tasks run and where their waiting happens: it owns a
 * poller and timers. A coroutine executor has one per usable CPU, shared by many
 * tasks; a pthread that runs tasks is a carrier with one.
 *
 * This header is how a library that is driven by events (libcurl, a database
 * client) is used from blocking code without knowing which of them it is on: it
 * keeps its state in a service of the carrier, and what touches that state runs
 * in carrier_call(), in the callbacks below, and nowhere else. All of it runs
 * one at a time per carrier, on a pthread's full-size stack (but for
 * carrier_call_small()), and must not wait.
 */
struct carrier;

/** State kept on one carrier. Embed it in a struct of your own. */
struct carrier_service {
	const void *key; /* whose it is: any address of yours, unique in the process */

	/* Called on the carrier when it ends; no task is left on it. Frees the service. */
	void (*stop)(struct carrier_service *service);

	struct carrier_service *next; /* the carrier's */
};

/** A file descriptor watched by a carrier. Zero it before the first use. */
struct carrier_fd {
	int fd;
	/* On the carrier. @events as in epoll_wait(2): EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP,
	 * EPOLLRDHUP. May change or remove any watch, this one too. */
	void (*ready)(struct carrier_fd *watch, uint32_t events);

	uint32_t events; /* the carrier's: what is watched for; 0 while unwatched */
	unsigned slot;   /* the carrier's */
};

/** A moment at which a carrier calls back. Zero it before the first use. */
struct carrier_timer {
	struct timer timer;
	void (*fire)(
		struct carrier_timer *timer); /* on the carrier; may set it again, or free it */
};

/** The carrier of the calling task: the same one for the task's whole life. Task only. */
struct carrier *carrier_current(void);

/**
 * Run fn(carrier, arg) on the calling task's carrier and return when it has returned. It may
 * call everything below, and task_wake(); it must not wait, nor ask for the current task.
 *
 * Task only. May come back on another pthread.
 */
void carrier_call(void (*fn)(struct carrier *carrier, void *arg), void *arg);

/**
 * The same, much cheaper, for a short @fn that needs little stack, below 1 KiB: it is the task's
 * own. No library is to be called there that does not say what it needs.
 */
void carrier_call_small(void (*fn)(struct carrier *carrier, void *arg), void *arg);

/**
 * CLOCK_MONOTONIC when the carrier looked at it last, which is no more than a turn of its tasks
 * ago, without a look at the clock. On the carrier.
 */
int64_t carrier_now_ns(struct carrier *carrier);

/** The service with @key on @carrier, or NULL. On the carrier. */
struct carrier_service *carrier_service_find(struct carrier *carrier, const void *key);

/** Keep @service until the carrier ends. On the carrier. */
void carrier_service_add(struct carrier *carrier, struct carrier_service *service);

/**
 * Watch watch->fd for @events (EPOLLIN, EPOLLOUT, EPOLLRDHUP), level-triggered; 0 ends it, and
 * must happen before the fd is closed. After that, no call of ready() is under way or due.
 *
 * On the carrier. Returns 0, -ENOMEM, -ENOSPC (the user's epoll limit), or -EBADF. Ending a
 * watch cannot fail.
 */
int carrier_watch(struct carrier *carrier, struct carrier_fd *watch, uint32_t events);

/** Whether others may take watches away from @carrier. Any thread. */
bool carrier_can_take_away(const struct carrier *carrier);

/**
 * End @watch on behalf of another carrier, which is to watch the fd instead. ready() may still be
 * called of what has been reported before, so @watch stays where it is until its own carrier has
 * said carrier_forget(); the fd is the caller's at once.
 *
 * Any thread, at a time when @watch is not changed by others. Cannot fail.
 */
void carrier_take_away(struct carrier *carrier, const struct carrier_fd *watch);

/** A watch that was taken away: its memory may go now. On the carrier. */
void carrier_forget(struct carrier *carrier, struct carrier_fd *watch);

/** Call timer->fire() at @moment, or never for DEADLINE_NEVER; replaces what was set. On the
 * carrier. Returns 0 or -ENOMEM; unsetting cannot fail. */
int carrier_set_timer(struct carrier *carrier, struct carrier_timer *timer, struct deadline moment);

#endif
