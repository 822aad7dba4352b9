#ifndef EXECUTORS_COROUTINE_MONITOR_H
#define EXECUTORS_COROUTINE_MONITOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/coroutine/pinned_events.h"
#include "executors/executor.h"

/*
 * One thread for each coroutine executor, which looks every few milliseconds
 * whether a task keeps its carrier: in a call that blocks the thread, or computing.
 * After the threshold it gives the carrier to a spare driver, and everything else
 * on the carrier goes on. While all carriers sleep, so does the monitor.
 */
struct coroutine_carrier;
struct coroutine_executor;
struct coroutine;
struct task_dump_carrier;

struct monitor {
	struct coroutine_executor *executor;
	int64_t threshold_ns; /* constant */
	pthread_t thread;
	bool is_running; /* the creator's */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closing;       /* lock */
	atomic_bool asleep; /* written under lock. Sequentially consistent, with the carriers'
	                       sleeping: the monitor sets this, then looks there; a driver clears
	                       that, then looks here */

	/* Written by the monitor alone. */
	struct {
		_Atomic uint64_t word;    /* of the carrier when last looked at; relaxed, for
		                             monitor_view() */
		_Atomic int64_t since_ns; /* likewise */
		int64_t used_ns;          /* CPU time of the driver, by then */
		bool is_counted;          /* as kept, though nobody could take it over */
	} seen[EXECUTOR_CARRIERS_MAX];

	struct pinned_events events;
};

/** Returns 0 or -EAGAIN. */
int monitor_start(struct monitor *monitor, struct coroutine_executor *executor,
                  int64_t threshold_ns);

/** Fine on one that was not started. */
void monitor_stop(struct monitor *monitor);

/** A carrier of the executor has woken. Any thread. */
void monitor_notice_work(struct monitor *monitor);

/**
 * Fill in which task keeps @carrier, and since when, as far as can be seen without owning it. By
 * the time of the answer it may have let it go. Any thread.
 */
void monitor_view(struct monitor *monitor, struct coroutine_carrier *carrier,
                  struct task_dump_carrier *out);

/** @coroutine, which had lost its carrier, is about to rejoin it. On the driver that it leaves. */
void monitor_notice_rejoin(struct monitor *monitor, const struct coroutine *coroutine);

#endif
