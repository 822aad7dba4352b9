#ifndef EXECUTORS_TASK_H
#define EXECUTORS_TASK_H

#include <stdatomic.h>

#include "executors/cancel.h"
#include "executors/deadline.h"
#include "executors/ticket.h"
#include "executors/wait_site.h"

/*
 * A task is one piece of straight-line code that an executor runs. This header
 * is what that code may do; executor.h is for those who start it.
 *
 * Code written against this header does not know, and must not ask, whether it
 * sits on a coroutine or on a pool thread. Two rules follow:
 *   - wait with task_park() or something built on it (latch.h), not with a
 *     call that blocks the thread;
 *   - hold no pthread mutex across such a wait, nor the address of a
 *     thread-local variable: the task may come back on another pthread.
 */
struct executor;
struct scope;
struct task_binding;

/**
 * Embed this in the object the work is about; submitting allocates nothing.
 *
 * Owned by the submitter and borrowed by the executor until @done is called
 * (root task) or the scope has joined (child): that report is the executor's
 * last act, and nobody touches the task after it. Zero the struct first.
 */
struct task {
	int (*run)(struct task *task); /* 0, or negative errno: what the scope's policy looks at */

	/* Root tasks only; scope_fork() sets these for a child. */
	void (*done)(struct task *task);    /* after @run, with @result set; on any thread, must not
	                                       wait. May free the task. Never NULL for a root. */
	struct cancel *cancel;              /* NULL: never cancelled */
	struct deadline deadline;           /* for task_deadline(); zeroed: never */
	const struct task_binding *context; /* task_context.h; borrowed until @done; NULL: nothing
	                                       is bound */

	const char *name; /* static text, for logs and debug pages; NULL is fine */
	int result;       /* what @run returned; a child that never ran: -ECANCELED if its scope
	                     was cancelled, -EAGAIN if there was no thread or stack for it */

	/* For executors/ alone. */
	struct executor *executor;
	struct scope *scope;  /* NULL for a root task */
	struct ticket ticket; /* a root task's own place in a run queue */
	struct task *next;    /* in its scope's list of unstarted or of finished children, or in
	                         a list of its executor's until it runs */
	struct cancel_watch watch; /* on @cancel while the task runs */
	atomic_uint permit;        /* enum task_permit; see task.c */
	void *seat;                /* the coroutine or pthread it occupies; set before it runs */
	struct scope *scopes;      /* those it has open, newest first; its own while it runs */
	struct wait_site site;     /* of its last park; likewise */
};

/** The task calling this, or NULL on a thread that is running none. */
struct task *task_current(void);

/** The name of the executor that runs the calling task, for reporting. Task only. */
const char *task_executor_name(void);

/** About how much memory a task of the calling task's executor takes beside its struct: its stack
 * as far as it is touched, its thread if it has one of its own. Task only. */
size_t task_memory_bytes(void);

/** The deadline that the calling task inherited. Task only. */
struct deadline task_deadline(void);

/** CANCEL_NONE unless the calling task has been cancelled. Task only. */
enum cancel_reason task_cancel_reason(void);

/**
 * Give up the thread or carrier until someone calls task_wake() on this task.
 *
 * A wake that comes first is kept (one, not a count) and makes the next park
 * return at once, so "publish the result, then wake" never loses a wake-up.
 * Returns may be spurious: check the awaited condition in a loop.
 *
 * Task only. Returns 0; -ETIMEDOUT once @deadline has passed; -ECANCELED once
 * the task is cancelled, and again at every later park: clean-up that must wait
 * uses task_park_masked(), which never returns it.
 */
int task_park(struct deadline deadline);
int task_park_masked(struct deadline deadline);

/** The same, saying what for. */
int task_park_at(struct wait_site site, struct deadline deadline);
int task_park_masked_at(struct wait_site site, struct deadline deadline);

/**
 * Make @task runnable, now or when it next parks. Never blocks.
 *
 * Any thread. @task must not return from its run function before this call has
 * returned; see latch.c for the usual way to guarantee that.
 */
void task_wake(struct task *task);

/** Let others have the thread or carrier for a moment. Task only. */
void task_yield(void);

/** Wait until @moment has passed. Task only; parks. Returns 0 or -ECANCELED. */
int task_sleep_until(struct deadline moment);

#endif
