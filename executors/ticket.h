#ifndef EXECUTORS_TICKET_H
#define EXECUTORS_TICKET_H

#include <stdbool.h>

/*
 * A place in a run queue (run_queue.h): a root task has one of its own, all
 * unstarted children of a scope share one. Embedded in both.
 */
struct ticket {
	struct ticket *next, *previous; /* the queue's lock */
	bool queued;                    /* the queue's lock */
	bool of_scope;                  /* constant: embedded in a scope, not in a task */
};

#endif
