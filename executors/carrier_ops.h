#ifndef EXECUTORS_CARRIER_OPS_H
#define EXECUTORS_CARRIER_OPS_H

#include "executors/carrier.h"
#include "executors/task.h"

/* What the two kinds of carrier implement: coroutine/carrier.c and pthread_carrier.c. */
struct carrier_ops {
	void (*call)(struct carrier *carrier, struct task *task,
	             void (*fn)(struct carrier *carrier, void *arg), void *arg);
	void (*call_small)(struct carrier *carrier, struct task *task,
	                   void (*fn)(struct carrier *carrier, void *arg), void *arg);
	/* @events may carry EPOLLET: see io.c. */
	int (*watch)(struct carrier *carrier, struct carrier_fd *watch, uint32_t events);
	/* For io.c: the pthread kind polls an edge-triggered watch only when armed, and disarms it
	 * when it is ready; the coroutine kind ignores this. */
	void (*arm)(struct carrier *carrier, struct carrier_fd *watch, uint32_t events);
	/* For io.c: what an edge-triggered watch that is not armed has ready, where nothing reports
	 * it: on the pthread kind. The coroutine kind has nothing to add. */
	uint32_t (*look)(struct carrier *carrier, const struct carrier_fd *watch);
	int64_t (*now_ns)(struct carrier *carrier);
	/* As carrier_take_away() and carrier_forget() say; NULL, both: this kind lets nobody. */
	void (*take_away)(struct carrier *carrier, const struct carrier_fd *watch);
	void (*forget)(struct carrier *carrier, struct carrier_fd *watch);
};

/** Embedded first in each kind's own struct. */
struct carrier {
	const struct carrier_ops *ops;
	struct carrier_service *services; /* newest first */
	struct timer_heap timers;         /* of struct carrier_timer */
};

/** For io.c: watch for EPOLLIN, EPOLLOUT and EPOLLRDHUP, edge-triggered. On the carrier. Returns
 * as carrier_watch() does, and -EPERM for a regular file. */
int carrier_watch_edges(struct carrier *carrier, struct carrier_fd *watch);

void carrier_init(struct carrier *carrier, const struct carrier_ops *ops);

/** Stop the services, newest first, and free the rest. On the carrier. */
void carrier_finish(struct carrier *carrier);

/** Fire what is due at @now_ns, each timer at most once. On the carrier. */
void carrier_fire_timers(struct carrier *carrier, int64_t now_ns);

/** When the next timer is due; DEADLINE_NEVER without one. On the carrier. */
struct deadline carrier_next_timer(struct carrier *carrier);

#endif
