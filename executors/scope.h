#ifndef EXECUTORS_SCOPE_H
#define EXECUTORS_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "executors/cancel.h"
#include "executors/task.h"
#include "executors/ticket.h"

/*
 * Structured concurrency: a scope owns the tasks forked into it, and is over
 * when every one of them has returned. It lives on the parent's stack, and so
 * may everything the children work on.
 *
 *	struct scope scope;
 *	scope_open(&scope, &(struct scope_options){.deadline = deadline});
 *	for (size_t i = 0; i < count; i++)
 *		errors[i] = scope_fork(&scope, &calls[i].task);
 *	error = scope_join(&scope);
 *
 * Children that have not started wait in the scope, which takes its turn with
 * other scopes. A parent that waits on a pool thread runs its own unstarted
 * children meanwhile.
 */
struct scope_options {
	unsigned max_parallel; /* children running at once; 0 is no limit */
	struct deadline
		deadline; /* the earlier of this and the parent's holds; zeroed: the parent's */
};

struct scope {
	struct cancel cancel; /* children run under it; its lock guards what says "lock" here */
	struct executor *executor;
	struct task *parent;
	struct deadline deadline; /* what children inherit */
	unsigned max_parallel;    /* UINT_MAX is no limit */

	struct task *first, **last; /* lock; children that have not started, oldest first */
	unsigned running;           /* lock; started and not yet returned */
	unsigned remaining;         /* lock; forked and not yet returned */
	bool offered;               /* lock; the ticket is, or is about to be, in @queue */
	bool wake_at_each; /* lock; the parent wants to hear of each child, not of the last */

	struct ticket ticket;
	struct run_queue *queue; /* the executor's choice; NULL if it starts children at once */
};

/**
 * Children inherit the deadline and cancellation. Every scope that was opened is
 * joined. Task only; never parks.
 */
void scope_open(struct scope *scope, const struct scope_options *options);

/**
 * Start @child on the parent's executor, once there is room for it. It is
 * borrowed until scope_join() has returned; then child->result says how it ended.
 *
 * Returns 0; -EAGAIN the executor is full (its policy decides whether this
 * refuses, waits or runs @child here); -ECANCELED the scope was cancelled. On
 * failure @child has not run and never will. Parent only; parks only under the
 * `wait` policy.
 */
int scope_fork(struct scope *scope, struct task *child);

/** Make every wait of every child, and of theirs, end with -ECANCELED; drop what has not
 * started. Any thread, as long as the scope is open. */
void scope_cancel(struct scope *scope, enum cancel_reason reason);

/**
 * Wait until no child can touch the caller's memory any more.
 *
 * Returns 0; -ETIMEDOUT the deadline passed and the rest was cancelled;
 * -ECANCELED the scope was cancelled for another reason. Always joins, also on
 * error. Parent only; parks. The scope is finished afterwards.
 */
int scope_join(struct scope *scope);

/* For executors. */

/** Take the oldest startable child; NULL if there is none. With the lock held. */
struct task *scope_take_locked(struct scope *scope);

/** Whether scope_take_locked() would give one. With the lock held. */
bool scope_has_startable_locked(const struct scope *scope);

/** The same as scope_take_locked(), taking the lock. */
struct task *scope_take(struct scope *scope);

/** @child has returned, or was taken and cannot run (child->result says so). Nobody touches it,
 * or the scope on its behalf, afterwards. Any thread. */
void scope_child_done(struct scope *scope, struct task *child);

#endif
