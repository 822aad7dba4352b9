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
 *
 * A child that returns 0 or more has succeeded, with a negative errno it has
 * failed. What a policy cancels sees CANCEL_SIBLING_DONE.
 */
enum scope_policy {
	SCOPE_ALL,       /* wait for every child, whatever it returns */
	SCOPE_FIRST,     /* the first success cancels the others */
	SCOPE_FAIL_FAST, /* the first failure cancels the others */
	SCOPE_QUORUM,    /* @quorum successes cancel the others */
	SCOPE_COLLECT,   /* as SCOPE_ALL; scope_next() hands the children out as they return */
};

struct scope_options {
	enum scope_policy policy;
	unsigned quorum;       /* SCOPE_QUORUM only: successes wanted, at least 1 */
	unsigned max_parallel; /* children running at once; 0 is no limit */
	struct deadline
		deadline; /* the earlier of this and the parent's holds; zeroed: the parent's */
};

struct scope {
	struct cancel cancel; /* children run under it; its lock guards what says "lock" here */
	struct executor *executor;
	struct task *parent;
	const struct task_binding *context; /* what children inherit: the parent's */
	struct deadline deadline;           /* what children inherit */
	struct scope *outer;                /* next of parent->scopes */
	unsigned max_parallel;              /* UINT_MAX is no limit */
	enum scope_policy policy;

	/* Parent only, and settled when it waits: so that a fork need not write what all threads
	 * write. */
	unsigned uncounted;         /* forks that executor->submitted lacks */
	unsigned admitted;          /* forks to come that executor->live has */
	unsigned admitted_together; /* when some were last admitted: how many */

	struct task *first, **last; /* lock; children that have not started, oldest first */
	unsigned running;           /* lock; started and not yet returned */
	unsigned remaining;         /* lock; forked and not yet returned */
	bool offered;               /* lock; the ticket is, or is about to be, in @queue */
	bool wake_at_each; /* lock; the parent wants to hear of each child, not of the last */

	bool is_settled; /* lock; the policy has decided how the scope ends */
	unsigned wanted; /* lock; successes still missing. 0 also if the policy counts none */
	int first_error; /* lock; of the first child that failed while nothing was cancelled */
	struct task *finished, **finished_last; /* lock; SCOPE_COLLECT: to be handed out */

	struct ticket ticket;
	struct run_queue *queue; /* the executor's choice; NULL if it starts children at once */
};

/**
 * Children inherit the deadline, cancellation and what is bound in the parent's context
 * (task_context.h). Every scope that was opened is joined. Task only; never parks.
 */
void scope_open(struct scope *scope, const struct scope_options *options);

/**
 * Start @child on the parent's executor, once there is room for it. It is
 * borrowed until scope_join() has returned, or scope_next() has handed it out;
 * then child->result says how it ended.
 *
 * Returns 0; -EAGAIN the executor is full (its policy decides whether this
 * refuses, waits or runs @child here); -ECANCELED the scope was cancelled, by its
 * policy perhaps. On failure @child has not run and never will, and the scope's
 * policy does not count it. Parent only; parks only under the `wait` policy.
 */
int scope_fork(struct scope *scope, struct task *child);

/** Make every wait of every child, and of theirs, end with -ECANCELED; drop what has not
 * started. Any thread, as long as the scope is open. */
void scope_cancel(struct scope *scope, enum cancel_reason reason);

/**
 * Wait until @deadline for a child that has returned and was not handed out yet: each that was
 * forked is, once, in the order in which they return. Then it is the caller's again, to fork it
 * anew (zeroed) or to free it. SCOPE_COLLECT only.
 *
 * A scope that is cancelled, or over its own deadline, hands out the rest as it ends, children that
 * never ran as well (their result is -ECANCELED), so a loop until 0 has seen them all.
 *
 * On a pool whose threads are all taken, and with no child running, it runs one itself, whatever
 * @deadline.
 *
 * Returns 1 with @out set; 0 no child is left; -ETIMEDOUT @deadline passed. @out is untouched
 * unless 1 is returned. Parent only; parks.
 */
int scope_next(struct scope *scope, struct deadline deadline, struct task **out);

/**
 * Wait until no child can touch the caller's memory any more.
 *
 * Returns 0: every child has returned, and SCOPE_FIRST or SCOPE_QUORUM have their successes, even
 * if cancelled at the same time. The error of the first child that failed: SCOPE_FAIL_FAST, or too
 * few successes; -ECHILD these, without any failure. -ETIMEDOUT the deadline passed and the rest
 * was cancelled; -ECANCELED the scope was cancelled for another reason.
 *
 * Always joins, also on error. Parent only; parks. The scope is finished afterwards.
 */
int scope_join(struct scope *scope);

/* For executors. */

/** @parent, the calling task, is about to wait: count what it has forked, and give back what was
 * admitted for more. */
void scope_settle_forks(struct task *parent);

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
