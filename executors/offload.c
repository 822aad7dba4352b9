#include "executors/offload.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "executors/thread_start.h"

#define MAX_BLOCKING 64
#define KEEP_ALIVE_NS INT64_C(10000000000)
#define CPU_LANE_NICE 10

/* A call that a task waits for, on its stack. */
struct call {
	struct offload_job job; /* first */
	struct lane *lane;
	int (*fn)(void *arg);
	void *arg;
	struct task *task;
	int result;
	bool is_over; /* the lane's lock */
};

/*
 * A leaving thread first joins the one that ended before it, so that at most one
 * is left to be joined in the end.
 */
struct lane {
	enum offload_lane kind; /* constant */
	int64_t keep_alive_ns;  /* constant */
	size_t stack_bytes;     /* constant */
	pthread_mutex_t lock;
	pthread_cond_t work;               /* a job has come, the limit has sunk, or @is_closing */
	pthread_cond_t none_left;          /* @threads and @leaving have become 0 */
	struct offload_job *first, **last; /* lock; the waiting ones, oldest first */
	unsigned waiting;                  /* lock; how many these are */
	unsigned limit;                    /* lock; most threads */
	unsigned threads;                  /* lock; started, or about to be, and not leaving */
	unsigned running; /* lock; of these, in a job. The others take what waits */
	unsigned leaving; /* lock; take nothing any more */
	bool is_closing;  /* lock */
	bool has_ended;   /* lock */
	pthread_t ended;  /* lock; to be joined if @has_ended */
};

struct offload {
	struct lane lanes[OFFLOAD_LANES];
};

/* ------ the queue */

static void append_locked(struct lane *lane, struct offload_job *job)
{
	job->is_waiting = true;
	job->next = NULL;
	job->previous = lane->last;
	*lane->last = job;
	lane->last = &job->next;
	lane->waiting++;
}

static void remove_locked(struct lane *lane, struct offload_job *job)
{
	*job->previous = job->next;
	if (job->next)
		job->next->previous = job->previous;
	else
		lane->last = job->previous;
	job->is_waiting = false;
	lane->waiting--;
}

static struct offload_job *take_locked(struct lane *lane)
{
	struct offload_job *job = lane->first;

	if (job)
		remove_locked(lane, job);
	return job;
}

/* ------ the threads */

static struct timespec moment_in_ns(int64_t ns)
{
	struct deadline deadline = deadline_in_ns(ns);

	return (struct timespec){
		.tv_sec = deadline.ns / 1000000000,
		.tv_nsec = deadline.ns % 1000000000,
	};
}

/* The next job to run; NULL: the thread must leave. */
static struct offload_job *next_job_locked(struct lane *lane)
{
	struct timespec until = moment_in_ns(lane->keep_alive_ns);
	bool is_late = false;
	struct offload_job *job;

	while (lane->threads <= lane->limit) {
		job = take_locked(lane);
		if (job || is_late || lane->is_closing)
			return job;
		is_late = pthread_cond_clockwait(&lane->work, &lane->lock, CLOCK_MONOTONIC,
		                                 &until) == ETIMEDOUT;
	}
	return NULL;
}

static void run_jobs_locked(struct lane *lane)
{
	struct offload_job *job;

	while ((job = next_job_locked(lane))) {
		lane->running++;
		pthread_mutex_unlock(&lane->lock);
		job->run(job, 0);
		pthread_mutex_lock(&lane->lock);
		lane->running--;
	}
}

static void say_if_none_left_locked(struct lane *lane)
{
	if (lane->threads == 0 && lane->leaving == 0)
		pthread_cond_signal(&lane->none_left);
}

static void leave_locked(struct lane *lane)
{
	lane->threads--;
	lane->leaving++;
	while (lane->has_ended) {
		pthread_t ended = lane->ended;

		lane->has_ended = false;
		pthread_mutex_unlock(&lane->lock);
		(void)pthread_join(ended, NULL);
		pthread_mutex_lock(&lane->lock);
	}
	lane->has_ended = true;
	lane->ended = pthread_self();
	lane->leaving--;
	say_if_none_left_locked(lane);
}

static void *lane_thread_main(void *arg)
{
	struct lane *lane = arg;
	bool is_cpu = lane->kind == OFFLOAD_CPU;

	(void)pthread_setname_np(pthread_self(), is_cpu ? "offload-cpu" : "offload-block");
	if (is_cpu) /* on Linux the nice value is a thread's: sched(7) */
		(void)setpriority(PRIO_PROCESS, (id_t)gettid(), CPU_LANE_NICE);
	pthread_mutex_lock(&lane->lock);
	run_jobs_locked(lane);
	leave_locked(lane);
	pthread_mutex_unlock(&lane->lock);
	return NULL;
}

/* Without any thread there would be nobody to run the jobs that wait. Gives the lock up meanwhile.
 */
static void refuse_all_locked(struct lane *lane)
{
	struct offload_job *job;

	while (lane->threads == 0 && (job = take_locked(lane))) {
		pthread_mutex_unlock(&lane->lock);
		job->run(job, -EAGAIN);
		pthread_mutex_lock(&lane->lock);
	}
}

/* Gives the lock up meanwhile. */
static int start_thread_locked(struct lane *lane)
{
	pthread_t id; /* the thread itself says it when it ends */
	int error;

	lane->threads++;
	pthread_mutex_unlock(&lane->lock);
	error = thread_start(&id, lane->stack_bytes, lane_thread_main, lane);
	pthread_mutex_lock(&lane->lock);
	if (error == 0)
		return 0;
	lane->threads--;
	refuse_all_locked(lane);
	say_if_none_left_locked(lane);
	return error;
}

static bool wants_thread_locked(const struct lane *lane)
{
	return lane->threads < lane->limit && lane->waiting > lane->threads - lane->running;
}

static void append_and_serve_locked(struct lane *lane, struct offload_job *job)
{
	append_locked(lane, job);
	pthread_cond_signal(&lane->work);
	if (wants_thread_locked(lane))
		(void)start_thread_locked(lane);
}

void offload_post(struct offload *offload, enum offload_lane kind, struct offload_job *job)
{
	struct lane *lane = &offload->lanes[kind];

	pthread_mutex_lock(&lane->lock);
	append_and_serve_locked(lane, job);
	pthread_mutex_unlock(&lane->lock);
}

/* ------ the tasks */

static void run_call(struct offload_job *job, int error)
{
	struct call *call = (struct call *)job;

	call->result = error < 0 ? error : call->fn(call->arg);
	pthread_mutex_lock(&call->lane->lock);
	call->is_over = true;
	/* Under the lock, which the task takes again before it leaves with the call. */
	task_wake(call->task);
	pthread_mutex_unlock(&call->lane->lock);
}

static int wait_locked(struct lane *lane, struct call *call, struct deadline deadline)
{
	struct wait_site site = {.kind = WAIT_OFFLOAD, .detail = lane->kind};
	int error = 0;

	while (call->job.is_waiting && error == 0) {
		pthread_mutex_unlock(&lane->lock);
		error = task_park_at(site, deadline);
		pthread_mutex_lock(&lane->lock);
	}
	if (call->job.is_waiting) {
		remove_locked(lane, &call->job);
		return error;
	}
	while (!call->is_over) {
		pthread_mutex_unlock(&lane->lock);
		(void)task_park_masked_at(site, DEADLINE_NEVER);
		pthread_mutex_lock(&lane->lock);
	}
	return call->result;
}

int task_offload(struct offload *offload, enum offload_lane kind, int (*fn)(void *arg), void *arg,
                 struct deadline deadline)
{
	struct lane *lane = &offload->lanes[kind];
	struct call call = {
		.job.run = run_call,
		.lane = lane,
		.fn = fn,
		.arg = arg,
		.task = task_current(),
	};
	int result;

	assert(call.task);
	if (task_cancel_reason() != CANCEL_NONE)
		return -ECANCELED;
	pthread_mutex_lock(&lane->lock);
	append_and_serve_locked(lane, &call.job);
	result = wait_locked(lane, &call, deadline);
	pthread_mutex_unlock(&lane->lock);
	return result;
}

/* ------ all of it */

void offload_resize(struct offload *offload, unsigned cpus)
{
	struct lane *lane = &offload->lanes[OFFLOAD_CPU];

	assert(cpus > 0);
	pthread_mutex_lock(&lane->lock);
	lane->limit = cpus;
	pthread_cond_broadcast(&lane->work);
	while (wants_thread_locked(lane) && start_thread_locked(lane) == 0)
		continue;
	pthread_mutex_unlock(&lane->lock);
}

const char *offload_lane_name(enum offload_lane lane)
{
	return lane == OFFLOAD_CPU ? "cpu" : "blocking";
}

void offload_stats(struct offload *offload, enum offload_lane kind, struct offload_stats *out)
{
	struct lane *lane = &offload->lanes[kind];

	pthread_mutex_lock(&lane->lock);
	*out = (struct offload_stats){
		.threads = lane->threads,
		.running = lane->running,
		.waiting = lane->waiting,
	};
	pthread_mutex_unlock(&lane->lock);
}

static void lane_init(struct lane *lane, enum offload_lane kind, unsigned limit,
                      const struct offload_options *options)
{
	*lane = (struct lane){
		.kind = kind,
		.keep_alive_ns = options->keep_alive_ns ? options->keep_alive_ns : KEEP_ALIVE_NS,
		.stack_bytes = options->stack_bytes,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.work = PTHREAD_COND_INITIALIZER,
		.none_left = PTHREAD_COND_INITIALIZER,
		.last = &lane->first,
		.limit = limit,
	};
}

static void lane_finish(struct lane *lane)
{
	pthread_mutex_lock(&lane->lock);
	assert(!lane->first);
	lane->is_closing = true;
	pthread_cond_broadcast(&lane->work);
	while (lane->threads > 0 || lane->leaving > 0)
		pthread_cond_wait(&lane->none_left, &lane->lock);
	pthread_mutex_unlock(&lane->lock);
	if (lane->has_ended)
		(void)pthread_join(lane->ended, NULL);
	pthread_cond_destroy(&lane->none_left);
	pthread_cond_destroy(&lane->work);
	pthread_mutex_destroy(&lane->lock);
}

int offload_create(const struct offload_options *options, struct offload **out)
{
	unsigned max_blocking = options->max_blocking ? options->max_blocking : MAX_BLOCKING;
	struct offload *offload = malloc(sizeof(*offload));

	assert(options->cpus > 0);
	if (!offload)
		return -ENOMEM;
	lane_init(&offload->lanes[OFFLOAD_BLOCKING], OFFLOAD_BLOCKING, max_blocking, options);
	lane_init(&offload->lanes[OFFLOAD_CPU], OFFLOAD_CPU, options->cpus, options);
	*out = offload;
	return 0;
}

void offload_destroy(struct offload *offload)
{
	if (!offload)
		return;
	for (int lane = 0; lane < OFFLOAD_LANES; lane++)
		lane_finish(&offload->lanes[lane]);
	free(offload);
}
