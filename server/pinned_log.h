#ifndef SERVER_PINNED_LOG_H
#define SERVER_PINNED_LOG_H

#include <stdint.h>

#include "server/executor_set.h"

/* Logs the pinned events: tasks that kept their carrier for longer than --pinned-threshold-ms. */
struct pinned_log {
	uint64_t next[EXECUTOR_SET_MAX]; /* of each executor, the number of the first event not seen
	                                  */
};

/** Log what is new, a few lines at most, and say how many were left out. Main thread only. */
void pinned_log_write(struct pinned_log *log, const struct executor_set *set);

#endif
