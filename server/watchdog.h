#ifndef SERVER_WATCHDOG_H
#define SERVER_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "executors/task.h"
#include "server/executor_set.h"
#include "server/fronts.h"
#include "server/notify.h"

/*
 * Tells a service manager that asks for it (WatchdogSec=) that the server is alive:
 * not that the main thread is, but that since the last time every front has gone round its
 * loop, and a carrier has run a task. Both are asked to, four times in the manager's period.
 * Of executors without carriers, whose threads may all wait for an upstream and be well,
 * nothing is asked.
 *
 * Main thread only. Without a watchdog nothing is woken.
 */
struct watchdog {
	const struct notifier *notifier; /* borrowed */
	struct fronts *fronts;           /* borrowed */
	struct executor *executor;       /* borrowed; NULL: none has carriers */
	int64_t due_ns;                  /* CLOCK_MONOTONIC; when to ask again */
	bool is_asking;
	struct task probe;
	atomic_bool probe_is_out; /* from submit until @done, which is its last use */
};

void watchdog_init(struct watchdog *watchdog, const struct notifier *notifier,
                   struct fronts *fronts, const struct executor_set *executors);

/** Once a second, until the drain. The executors are destroyed before @watchdog goes. */
void watchdog_tick(struct watchdog *watchdog);

#endif
