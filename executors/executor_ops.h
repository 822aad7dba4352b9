#ifndef EXECUTORS_EXECUTOR_OPS_H
#define EXECUTORS_EXECUTOR_OPS_H

#include <stdatomic.h>

#include "executors/executor.h"
#include "executors/run_queue.h"
#include "executors/scope.h"
#include "executors/task_dump.h"

/*
 * What one kind of executor implements. Every call through the table is written
 * once: in executor.c, task.c, task_dump.c, scope.c or carrier.c, which check arguments.
 */
struct carrier;

/** Embedded first in each kind's own struct. Set up by executor_init(). */
struct executor {
	const struct executor_ops *ops;
	struct executor_options options; /* constant */
	atomic_uint live;                /* admitted and not finished; counted by executor.c */
	atomic_ullong submitted;         /* relaxed: statistics, read by executor_stats() */
	atomic_ullong refused;           /* relaxed: statistics */
	atomic_uint parked;              /* relaxed: statistics */
	atomic_bool closing;             /* set by executor_destroy(). Sequentially consistent with
	                                    @live: whoever ends the last task sees it, or the
	                                    destroyer sees that none is left */
};

struct executor_ops {
	const char *name;
	size_t task_bytes; /* see task_memory_bytes() */

	int (*create)(const struct executor_options *options, struct executor **out);

	/* Start @task, a root that has been admitted. 0 or -EAGAIN. */
	int (*submit)(struct executor *executor, struct task *task);

	/* The queue for scopes of @parent; NULL if children start at once, in offer(). */
	struct run_queue *(*queue)(struct executor *executor, struct task *parent);

	/* scope->offered has just been set: push the scope's ticket to scope->queue and wake
	 * someone to serve it, or, with no queue, take and start all startable children and clear
	 * @offered. The scope stays open during the call. Any thread that runs a task of this
	 * executor. */
	void (*offer)(struct executor *executor, struct scope *scope);

	/* Run @child on the calling task's own thread and return when it has returned and been
	 * reported. NULL if a joining parent need not do that. */
	void (*run_here)(struct executor *executor, struct task *child);

	/* Whether a thread has no task and so is bound to find the tickets in the queues: a parent
	 * may leave its unstarted children to it. NULL without run_here. Parent only. */
	bool (*has_free_thread)(struct executor *executor);

	/* Suspend the calling task until its permit is noted (returns 0) or @deadline has passed
	 * (-ETIMEDOUT). The permit is consumed. */
	int (*park)(struct task *task, struct deadline deadline);

	/* @task's permit has just gone from @state (parked or polling) to noted: resume it. */
	void (*unpark)(struct task *task, unsigned state);

	void (*yield)(struct task *task);

	/* The carrier of the calling task. */
	struct carrier *(*carrier)(struct task *task);

	int (*resize)(struct executor *executor, unsigned carriers);

	/* NULL if nothing can be pinned. */
	unsigned (*pinned_events)(struct executor *executor, uint64_t *next,
	                          struct pinned_event *out, unsigned max);
	bool (*pinned_stack)(struct executor *executor, uint64_t number,
	                     struct stack_snapshot *out);

	/* Add queued, threads and carriers; the rest is filled in. */
	void (*stats)(struct executor *executor, struct executor_stats *out);

	/* List the tasks that have started, up to the capacity, and the carriers. 0 or -ENOMEM. */
	int (*dump_tasks)(struct executor *executor, struct task_dump *dump);

	/* @closing is set. Wait for the live tasks, end the threads, free all. */
	void (*destroy)(struct executor *executor);
};

extern const struct executor_ops coroutine_executor_ops;
extern const struct executor_ops pool_executor_ops;
extern const struct executor_ops thread_executor_ops;

/** For create(): fill the common part. */
void executor_init(struct executor *executor, const struct executor_ops *ops,
                   const struct executor_options *options);

/** Count one more live task. 0; -EAGAIN max_tasks is reached. Any thread. */
int executor_admit(struct executor *executor);

/** The same for up to @wanted tasks to come, fewer as the limit comes near. Returns how many; 0:
 * max_tasks is reached. Any thread. */
unsigned executor_admit_some(struct executor *executor, unsigned wanted);

/** The same, whatever the limit: for a parent that runs a child in its own place. */
void executor_admit_over_limit(struct executor *executor);

/** Count @count submits and forks that succeeded, for the statistics. Any thread. */
void executor_count_started(struct executor *executor, unsigned count);

/** Count a submit or fork that is answered with @error, for the statistics. Any thread. */
void executor_count_answer(struct executor *executor, int error);

/** One live task less, or @count of those that were to come. Any thread. */
void executor_release(struct executor *executor);
void executor_release_some(struct executor *executor, unsigned count);

/* The life of a task, in this order, called by the executor's own threads: */

/** What task_current() reads. Only for code that cannot come to another thread: a driver's, on its
 * own stack. */
extern _Thread_local struct task *task_of_thread;

/** Make @task the current task of this thread (NULL: none). */
void task_set_current(struct task *task);

/** @task was taken from its queue and has @seat; from now on its cancel token wakes it. */
void task_begin(struct task *task, void *seat);

/** Have @task woken when its token, whose lock is held, fires. For task_begin() and scope.c. */
void task_watch_cancel_locked(struct task *task);

/**
 * @task has returned @result, or cannot be started at all: take it from its
 * token, release its admission, and report it to its scope or to done(). The
 * task is gone when this returns. Any thread.
 */
void task_end(struct task *task, int result);

/** What a task's permit can be. A wake is always exchange(NOTED); who finds PARKED or POLLING
 * there, and nobody else, resumes the task. */
enum task_permit {
	PERMIT_NONE,    /* running or ready */
	PERMIT_NOTED,   /* the same, and the next park returns at once */
	PERMIT_PARKED,  /* suspended */
	PERMIT_POLLING, /* a pthread suspended in poll(2), to be resumed through its eventfd */
};

#endif
