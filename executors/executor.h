#ifndef EXECUTORS_EXECUTOR_H
#define EXECUTORS_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executors/stack_snapshot.h"
#include "executors/task.h"

/*
 * An executor runs tasks. Three are built in:
 *   "coroutine"    each task on its own small stack, many per carrier thread;
 *                  a parked task costs memory but no thread;
 *   "pool"         each task on a pool thread for its whole life; a parked task
 *                  keeps its thread;
 *   "thread"       each task on a pthread of its own, up to a limit.
 *
 * To add one: implement struct executor_ops (executor_ops.h) in its own file,
 * and name it in the table in executor.c. tests/contract/ then runs against it.
 */
struct executor;

#define EXECUTOR_CARRIERS_MAX 256

/** What a fork does when max_tasks is reached. Submitting from outside always refuses. */
enum when_full {
	WHEN_FULL_REJECT,      /* the fork fails with -EAGAIN */
	WHEN_FULL_CALLER_RUNS, /* the parent runs the child itself, inside the fork */
	WHEN_FULL_WAIT,        /* the parent runs its unstarted children, then waits for one */
};

/** What finds out that a task's stack overflowed: see coroutine/stack_guard.h. */
enum stack_guard {
	STACK_GUARD_AUTO, /* the best that the kernel has */
	STACK_GUARD_MADVISE,
	STACK_GUARD_MPROTECT, /* for as many stacks as there are mappings for; then canary */
	STACK_GUARD_CANARY,
	STACK_GUARD_KINDS,
};

struct executor_options {
	unsigned threads;         /* pool threads, or carriers (at most EXECUTOR_CARRIERS_MAX), at
	                             least 1; "thread" ignores it */
	unsigned max_tasks;       /* admitted and not yet finished, at least 1 */
	unsigned max_threads;     /* "thread" only: pthreads at once, at least 1 */
	unsigned max_queued;      /* "pool" only: root tasks waiting for a thread, at least 1 */
	enum when_full when_full; /* "pool" only */
	size_t stack_bytes;       /* "coroutine" only: stack of one task, guard included */
	enum stack_guard stack_guard; /* "coroutine" only */
	unsigned spare_drivers; /* "coroutine" only: threads beside the carriers', which take over
	                           a carrier that a task keeps; 0: such a task holds it up */
	unsigned pinned_threshold_ms; /* "coroutine" only: how long a task may keep its carrier, at
	                                 least 1 */
};

/** What a task did that kept its carrier for longer than the threshold. */
enum pinned_kind {
	PINNED_CPU,     /* it computed */
	PINNED_SYSCALL, /* it was in a system call that blocks */
	PINNED_LOCK,    /* the same, for a lock (futex(2)) */
	PINNED_KINDS,   /* how many there are */
};

struct pinned_event {
	uint64_t number;       /* counts from 0 */
	struct deadline since; /* from when on the carrier was seen kept; CLOCK_MONOTONIC */
	int64_t duration_ns;   /* until the task called into the runtime; 0: it has not, or nobody
	                          could take its carrier over */
	enum pinned_kind kind;
	const char *task_name; /* static text; NULL: it has none, or is not known */
	unsigned carrier;      /* its number */
	bool is_handed_over;   /* to another thread; else all tasks of the carrier waited */
};

/**
 * A snapshot; counters never go backwards, gauges may be stale by microseconds. A task that forks
 * counts its forks when it next waits: until then @submitted lacks them, and @live has up to 15
 * more for each scope that it has open.
 */
struct executor_stats {
	uint64_t submitted; /* tasks admitted since start, children included */
	uint64_t refused;   /* submits and forks answered with -EAGAIN */
	unsigned live;      /* tasks admitted and not yet finished */
	unsigned running;   /* tasks that have started and are not parked */
	unsigned parked;    /* tasks waiting in task_park() */
	unsigned queued;    /* tickets waiting in run queues: root tasks, and scopes with
	                       unstarted children */
	unsigned threads;   /* pthreads of the executor */
	unsigned carriers;  /* "coroutine": carriers that accept tasks; else 0 */

	/* "coroutine", else 0 and NULL. */
	const char *stack_guard;            /* what the next new stack gets: "madvise". Static */
	unsigned stacks[STACK_GUARD_KINDS]; /* that there are, in use or not, by their guard */
	size_t stack_high_water_bytes; /* most that a task was seen to have used of its stack, in
	                                  whole pages and with what is kept at its top: the
	                                  first stack that is given back and one in 256 are
	                                  measured then */
	unsigned drivers; /* "coroutine": threads that run carriers, spares included; else 0 */
	uint64_t pinned[PINNED_KINDS]; /* pinned events since start */
};

/** The names of the executors, in the order of the table, NULL at the end. Static. */
const char *const *executor_names(void);

/**
 * Start the executor called @name.
 *
 * On success *@out is the caller's, to be given to executor_destroy().
 * Returns 0; -ENOENT no executor has that name; -EINVAL an option out of range;
 * -EOPNOTSUPP the kernel has no such stack guard; -ENOMEM, -EAGAIN the system refused memory or
 * threads; -EMFILE. *@out is untouched on failure. Not from a task.
 */
int executor_create(const char *name, const struct executor_options *options,
                    struct executor **out);

/** Static text. */
const char *executor_name(const struct executor *executor);

/**
 * Run @task soon, on a thread of the executor's choice. Never blocks.
 *
 * Any thread. Returns 0; -EAGAIN max_tasks, max_queued or max_threads is
 * reached, or the system has no more threads; -ESHUTDOWN being destroyed. On
 * failure @task has not run and never will, and its @done is not called.
 */
int executor_submit(struct executor *executor, struct task *task);

/**
 * Change the number of carriers to @carriers, at least 1. A surplus carrier ends
 * with its last started task. Executors without carriers ignore it.
 *
 * One thread at a time, not from a task. Returns 0; -EINVAL over EXECUTOR_CARRIERS_MAX; -ENOMEM,
 * -EAGAIN or -EMFILE: fewer carriers than asked for are running, call again later.
 */
int executor_resize(struct executor *executor, unsigned carriers);

/**
 * The pinned events from number *@next on, oldest first, and move *@next behind them. The last 256
 * are kept, those before are passed over. Any thread. Returns how many were written, at most @max.
 */
unsigned executor_pinned_events(struct executor *executor, uint64_t *next, struct pinned_event *out,
                                unsigned max);

/**
 * Copy what the stack of pinned event @number held soon after the carrier had been kept for the
 * threshold. Any thread. False: the event is not kept any more, or its stack could not be read, or
 * not yet: that of a task that computes comes when its thread next gets a CPU.
 */
bool executor_pinned_stack(struct executor *executor, uint64_t number, struct stack_snapshot *out);

/** Static text: "cpu", "syscall", "lock". */
const char *pinned_kind_name(enum pinned_kind kind);

/** Any thread. */
void executor_stats(struct executor *executor, struct executor_stats *out);

/**
 * Refuse new tasks, wait for the admitted ones to return, free everything. No executor_submit()
 * may be under way on a thread that is not the executor's own. Not from a task. NULL is ignored.
 */
void executor_destroy(struct executor *executor);

#endif
