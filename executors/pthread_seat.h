#ifndef EXECUTORS_PTHREAD_SEAT_H
#define EXECUTORS_PTHREAD_SEAT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/task.h"

/*
 * Which task a pthread runs, and whether that waits: so that another thread can
 * list the tasks of the pool and the thread executor. While somebody holds a
 * seat's lock the task on it cannot end, nor one that waits return from its park.
 *
 * Lock order: the list, a seat, a scope.
 */

/** A task on a seat. On the thread's stack; a parent that runs its own child has it above. */
struct seated {
	struct task *task;
	struct seated *outer;
	int64_t started_ns;
};

struct pthread_seat {
	pthread_mutex_t lock;
	struct seated *top;    /* lock; the innermost; NULL: none */
	bool is_waiting;       /* lock; @top is in its park */
	int64_t parked_ns;     /* lock; since when */
	struct deadline until; /* lock; until when at most */

	struct pthread_seats *seats;
	struct pthread_seat *next, **previous; /* seats->lock */
};

/** The seats of one executor. */
struct pthread_seats {
	pthread_mutex_t lock;
	struct pthread_seat *first; /* lock */
};

struct task_dump;

void pthread_seats_init(struct pthread_seats *seats);

/** All have been closed. */
void pthread_seats_finish(struct pthread_seats *seats);

/** Add those that are taken to @dump. Any thread. */
void pthread_seats_dump(struct pthread_seats *seats, struct task_dump *dump);

/* The seat's own thread: */

void pthread_seat_open(struct pthread_seat *seat, struct pthread_seats *seats);
void pthread_seat_close(struct pthread_seat *seat);

/** @task is about to run. @seated, the caller's, stays in place until it is left. */
void pthread_seat_enter(struct pthread_seat *seat, struct seated *seated, struct task *task);
void pthread_seat_leave(struct pthread_seat *seat);

/** The innermost task parks until @deadline at most; it goes on. */
void pthread_seat_begin_wait(struct pthread_seat *seat, struct deadline deadline);
void pthread_seat_end_wait(struct pthread_seat *seat);

#endif
