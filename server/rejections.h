#ifndef SERVER_REJECTIONS_H
#define SERVER_REJECTIONS_H

#include <stdatomic.h>

struct metrics_text;

/* Requests and connections turned away because something is full: fanoutd_rejected_total. Not those
 * of pages with an executor of their own, which say nothing of the executors that --max-tasks and
 * the others limit. */
enum rejection {
	REJECTED_QUEUE,     /* a request: too many wait for a thread (--queue) */
	REJECTED_MAX_TASKS, /* a request: --max-tasks */
	REJECTED_THREADS,   /* a request: --max-threads, or the system has no more threads */
	REJECTED_MEMORY,    /* a request: no memory for the stack of its task */
	REJECTED_FDS,       /* a connection: the process or the system has no more descriptors */
	REJECTIONS,
};

struct rejections {
	atomic_ullong counts[REJECTIONS]; /* relaxed: statistics */
};

/** Any thread. */
static inline void rejections_add(struct rejections *rejections, enum rejection reason)
{
	atomic_fetch_add_explicit(&rejections->counts[reason], 1, memory_order_relaxed);
}

/** Print the family. Any thread. */
void rejections_print(struct rejections *rejections, struct metrics_text *text);

#endif
