#ifndef SERVER_CPU_WATCH_H
#define SERVER_CPU_WATCH_H

#include <pthread.h>

#include "executors/cpu_quota.h"

struct metrics_text;

/*
 * The CPUs that this process may use, read at start and then every second by the
 * main thread, for the size of the executors and for /metrics.
 */
struct cpu_watch {
	struct cpu_quota_reader *reader; /* owned; main thread only */
	pthread_mutex_t lock;
	struct cpu_quota quota; /* lock; written by the main thread alone */
};

/** Read for the first time. Returns 0; -ENOMEM. */
int cpu_watch_init(struct cpu_watch *watch);

void cpu_watch_finish(struct cpu_watch *watch);

/** Read again, and log what has changed. Returns the usable CPUs. Main thread only. */
unsigned cpu_watch_read(struct cpu_watch *watch);

/** Print the families of quota and throttling. Any thread. */
void cpu_watch_print(struct cpu_watch *watch, struct metrics_text *text);

#endif
