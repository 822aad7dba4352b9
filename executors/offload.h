#ifndef EXECUTORS_OFFLOAD_H
#define EXECUTORS_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executors/task.h"

/*
 * Work that must not run on a task's own thread or stack, done on a pthread
 * while the task parks: calls that block in the kernel or in a library (file
 * I/O), and computing that would keep other tasks from the CPU (hashing).
 *
 * Two lanes, each with threads of its own that are started on demand and end
 * after ten idle seconds. What finds them all busy waits, first come first
 * served; nothing is allocated, so whoever has the tasks and jobs bounds the queue.
 */
struct offload;

enum offload_lane {
	OFFLOAD_BLOCKING, /* for waiting: up to max_blocking threads */
	OFFLOAD_CPU,      /* for computing: a thread per CPU, with a nice value of 10 */
};

enum { OFFLOAD_LANES = OFFLOAD_CPU + 1 };

struct offload_options {
	unsigned max_blocking; /* threads of the blocking lane; 0 is 64 */
	unsigned cpus;         /* threads of the CPU lane, at least 1; see offload_resize() */
	int64_t keep_alive_ns; /* an idle thread's; 0 is 10 s */
	size_t stack_bytes;    /* of a thread; 0 is the system's default */
};

/** A snapshot. */
struct offload_stats {
	unsigned threads; /* started, and not about to end */
	unsigned running; /* of these, calling somebody's function */
	unsigned waiting; /* calls that wait for a thread */
};

/** No thread is started yet. On success *@out is the caller's. Returns 0 or -ENOMEM. */
int offload_create(const struct offload_options *options, struct offload **out);

/**
 * Return fn(arg), called on a thread of the lane @kind. It may use the caller's memory, not its
 * task: @fn is no task, and must not park.
 *
 * Cancellation and @deadline hold until @fn has begun; then it is waited for, however long it
 * takes. Task only; parks. Returns what @fn does; without having called it -ECANCELED, -ETIMEDOUT
 * (waited in vain for a thread until @deadline), or -EAGAIN (the system has no thread for the
 * lane).
 */
int task_offload(struct offload *offload, enum offload_lane kind, int (*fn)(void *arg), void *arg,
                 struct deadline deadline);

/** A call that no task waits for. Embed it in the object that it is about. */
struct offload_job {
	/* Called once: with 0 on a thread of the lane, where it may block; or with -EAGAIN if the
	 * system has no thread for the lane, on the thread that wanted one: within
	 * offload_post(), task_offload() or offload_resize(), whoever called that. The job is its
	 * owner's again by then, who may free it. */
	void (*run)(struct offload_job *job, int error);

	struct offload_job *next, **previous; /* the lane's */
	bool is_waiting;                      /* the lane's */
};

/**
 * Have job->run() called on a thread of the lane @kind. @job is borrowed until then.
 *
 * May have to start a thread; if the system refuses it and the lane has no other, run() is called
 * with -EAGAIN for this job and those of others that wait in the lane. So the caller holds no lock
 * that the run() of any job takes. Any thread; never waits for a job.
 */
void offload_post(struct offload *offload, enum offload_lane kind, struct offload_job *job);

/** Change the CPU lane to @cpus threads, at least 1: a surplus one ends after its call. Any
 * thread. */
void offload_resize(struct offload *offload, unsigned cpus);

/** Static text: "blocking" or "cpu". */
const char *offload_lane_name(enum offload_lane lane);

/** Any thread. */
void offload_stats(struct offload *offload, enum offload_lane kind, struct offload_stats *out);

/** No task uses it any more, and no job is left. Blocks until its threads have ended. Not from a
 * task. NULL is ignored. */
void offload_destroy(struct offload *offload);

#endif
