#ifndef EXECUTORS_TASK_DUMP_H
#define EXECUTORS_TASK_DUMP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/scope.h"
#include "executors/wait_site.h"

/*
 * A picture of an executor's tasks, for people: who waits for what, where, and
 * since when. Each entry is true at some moment while the picture was taken, not
 * all at the same one.
 *
 * Addresses in it are names, never to be followed: what they belong to may have
 * gone. Times are on CLOCK_MONOTONIC and good to a turn of a carrier.
 */
struct executor;

enum { TASK_DUMP_FRAMES = 16, TASK_DUMP_SCOPES = 2, TASK_DUMP_TEXT_BYTES = 64 };

#define TASK_DUMP_NO_CARRIER UINT_MAX

enum task_state {
	TASK_READY,   /* will go on as soon as it is its turn */
	TASK_RUNNING, /* on a thread of its own, the only one that it has */
	TASK_PARKED,
	TASK_BESIDE, /* runs on a spare thread beside its carrier, which it had kept for long */
	TASK_STATES, /* how many there are */
};

/** A scope that a task has open. */
struct task_dump_scope {
	const void *id;
	enum scope_policy policy;
	struct deadline deadline; /* what children inherit */
	unsigned running;         /* children that have started and not returned */
	unsigned not_started;
};

struct task_dump_entry {
	const void *id;     /* the task's address */
	const void *parent; /* that of the task that forked it; NULL: a root */
	const void *scope;  /* it was forked in; NULL: a root */
	const char *name;   /* static text; NULL: it has none */
	enum task_state state;
	unsigned carrier; /* its number, or TASK_DUMP_NO_CARRIER */
	int64_t started_ns;
	struct deadline deadline; /* inherited */

	/* Of one that is parked. */
	enum wait_kind wait;
	unsigned detail;                 /* see wait_kind */
	const void *object;              /* waited for; NULL: none that has an address */
	const void *owner;               /* of the mutex: a task; NULL: it is changing hands */
	char text[TASK_DUMP_TEXT_BYTES]; /* of WAIT_CALL, WAIT_LOOKUP: the host; may be cut */
	int64_t parked_ns;
	struct deadline until; /* the end of the wait at the latest */

	/* Of one that is not on a thread. */
	unsigned open_scopes;                            /* of which the newest are in */
	struct task_dump_scope scopes[TASK_DUMP_SCOPES]; /* this */
	unsigned frames;
	const void *pcs[TASK_DUMP_FRAMES]; /* innermost first; after the first, return addresses */
};

struct task_dump_carrier {
	unsigned number;
	bool is_accepting;
	unsigned live, parked;

	/* A task keeps it, and no spare driver took it over: its tasks are not in the list. */
	bool is_silent;
	int64_t silent_since_ns;
	const char *task_name; /* of that task; NULL: it has none, or is not known */
	const void *task;      /* its address; NULL: none, but a callback */
};

struct task_dump {
	int64_t now_ns; /* when it was begun */
	struct task_dump_entry *entries;
	unsigned count;
	unsigned capacity;
	unsigned rest;   /* tasks that were alive then, or when it ended, beyond those in the
	                    list: not started, on silent carriers, over the capacity */
	unsigned queued; /* tickets in run queues: see executor_stats */
	struct task_dump_carrier *carriers;
	unsigned carrier_count; /* 0: the executor has none */
};

/**
 * List at most @max tasks. Carriers list their own, the oldest first, a few hundred in a turn.
 *
 * Takes up to 100 ms, and blocks meanwhile: not from a task that shares its thread. One caller at
 * a time has its turn. On success @out is to be given to task_dump_finish(). Returns 0 or -ENOMEM.
 */
int executor_dump_tasks(struct executor *executor, unsigned max, struct task_dump *out);

void task_dump_finish(struct task_dump *dump);

/** Static text: "ready", "running", "parked", "beside". */
const char *task_state_name(enum task_state state);

/** Static text: "sleep", "mutex". */
const char *wait_kind_name(enum wait_kind kind);

/** Static text: "all", "first", "fail fast", "quorum", "collect". */
const char *scope_policy_name(enum scope_policy policy);

/* For executors. */

/** Fill in what never changes while @task lives. */
void task_dump_describe(struct task_dump_entry *entry, const struct task *task);

/** Add the scopes that @task has open. It is not running, and cannot meanwhile. */
void task_dump_add_scopes(struct task_dump_entry *entry, const struct task *task);

/** Add what @task waits for. It is parked, and cannot return meanwhile. */
void task_dump_add_wait(struct task_dump_entry *entry, const struct task *task);

#endif
