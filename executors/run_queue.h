#ifndef EXECUTORS_RUN_QUEUE_H
#define EXECUTORS_RUN_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "executors/task.h"
#include "executors/ticket.h"

/*
 * What waits to be started on a pool or on a carrier, served round robin. A
 * scope has one ticket however many children wait in it, so a fan-out of 1,000
 * cannot hold up one of 10 (fair queueing by scope).
 *
 * A ticket stays in the queue it was pushed to until it has nothing left to
 * give; thieves take tasks out of it, not the ticket. Lock order: queue, then
 * scope.
 */
struct run_queue {
	pthread_mutex_t lock;
	struct ticket head;  /* lock; a ring through this sentinel */
	atomic_uint tickets; /* written under lock; others look without it. Sequentially consistent:
	                        partner of the flag by which a thread says it goes to sleep */
	unsigned roots;      /* lock; root tasks among the tickets */
};

void run_queue_init(struct run_queue *queue);
void run_queue_finish(struct run_queue *queue);

/** Append. Any thread; the caller then wakes someone to serve it. */
void run_queue_push(struct run_queue *queue, struct ticket *ticket);

/** The same for a root task, unless @max_roots of them wait already: then -EAGAIN. */
int run_queue_push_root(struct run_queue *queue, struct task *task, unsigned max_roots);

/** Take a ticket out, wherever it stands. Fine on one that is not in the queue. */
void run_queue_remove(struct run_queue *queue, struct ticket *ticket);

/** How many tasks may be taken from a ticket whose next one is @next, at most @max; 0: none. */
struct run_filter {
	unsigned (*allows)(const struct run_filter *filter, const struct task *next, unsigned max);
};

/**
 * Take up to @max tasks to start from the ticket whose turn it is, passing over
 * those that @filter (NULL: none) does not allow; of a scope no more than the share of one of
 * @takers, who may come for the others. They count as running from now on.
 * Any thread. Returns how many; 0 when there is nothing.
 */
unsigned run_queue_take(struct run_queue *queue, struct task **tasks, unsigned max, unsigned takers,
                        const struct run_filter *filter);

/** Whether there is a ticket that @filter allows to take from. Any thread. */
bool run_queue_allows(struct run_queue *queue, const struct run_filter *filter);

#endif
