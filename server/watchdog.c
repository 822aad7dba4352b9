#include "server/watchdog.h"

#include <stddef.h>

#include "executors/deadline.h"

enum { ASKS_IN_A_PERIOD = 4 };

static int run_probe(struct task *task)
{
	(void)task;
	return 0;
}

static void probe_done(struct task *task)
{
	struct watchdog *watchdog =
		(struct watchdog *)((char *)task - offsetof(struct watchdog, probe));

	/* Release, for watchdog_tick(): the task may be used again. */
	atomic_store_explicit(&watchdog->probe_is_out, false, memory_order_release);
}

static struct executor *find_carriers(const struct executor_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct executor_stats stats;

		executor_stats(set->executors[i], &stats);
		if (stats.carriers > 0)
			return set->executors[i];
	}
	return NULL;
}

void watchdog_init(struct watchdog *watchdog, const struct notifier *notifier,
                   struct fronts *fronts, const struct executor_set *executors)
{
	*watchdog = (struct watchdog){
		.notifier = notifier,
		.fronts = fronts,
		.executor = find_carriers(executors),
	};
}

static void send_probe(struct watchdog *watchdog)
{
	if (watchdog->executor == NULL)
		return;
	watchdog->probe = (struct task){
		.run = run_probe,
		.done = probe_done,
		.name = "watchdog",
	};
	atomic_store_explicit(&watchdog->probe_is_out, true, memory_order_relaxed);
	/* Refused: the executor is full, which is not being stuck. */
	if (executor_submit(watchdog->executor, &watchdog->probe) != 0)
		atomic_store_explicit(&watchdog->probe_is_out, false, memory_order_relaxed);
}

void watchdog_tick(struct watchdog *watchdog)
{
	int64_t now_ns = deadline_now_ns();

	if (watchdog->notifier->watchdog_ns == 0)
		return;
	if (watchdog->is_asking && fronts_have_answered(watchdog->fronts) &&
	    !atomic_load_explicit(&watchdog->probe_is_out, memory_order_acquire)) {
		notify_send(watchdog->notifier, "WATCHDOG=1");
		watchdog->is_asking = false;
	}
	if (watchdog->is_asking || now_ns < watchdog->due_ns)
		return;
	watchdog->due_ns = now_ns + watchdog->notifier->watchdog_ns / ASKS_IN_A_PERIOD;
	watchdog->is_asking = true;
	fronts_ask(watchdog->fronts);
	send_probe(watchdog);
}
