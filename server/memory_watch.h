#ifndef SERVER_MEMORY_WATCH_H
#define SERVER_MEMORY_WATCH_H

#include <pthread.h>
#include <stdbool.h>

#include "executors/memory_budget.h"
#include "executors/memory_limit.h"

struct metrics_text;

/*
 * The memory that requests may take together: the limit of the cgroup, less what is in use before
 * the first request, and a tenth for what no request is charged with. Read at the start and then
 * every second by the main thread, since limits change and processes are moved.
 */
struct memory_watch {
	struct memory_budget budget;        /* for the handlers */
	struct memory_limit_reader *reader; /* owned; main thread only, as are the next three */
	uint64_t base_bytes;                /* in use when the limit was first read */
	uint64_t trimmed_bytes;             /* in use when malloc_trim() was called last, or less */
	int warned_of;                      /* the negative errno that was logged last */
	pthread_mutex_t lock;
	struct memory_limit limit; /* lock; written by the main thread alone */
};

/** No limit, so that the handlers can be given the budget. Returns 0; -ENOMEM. */
int memory_watch_init(struct memory_watch *watch);

void memory_watch_finish(struct memory_watch *watch);

/** Read the limit. The first time whatever is in use counts as the base: there are no requests yet.
 * True: it is another one than before. Main thread only. */
bool memory_watch_read(struct memory_watch *watch);

/** Log what was read last. Main thread only. */
void memory_watch_log(const struct memory_watch *watch);

/** Print the families of limit and budget. Any thread. */
void memory_watch_print(struct memory_watch *watch, struct metrics_text *text);

#endif
