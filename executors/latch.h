#ifndef EXECUTORS_LATCH_H
#define EXECUTORS_LATCH_H

#include <pthread.h>

#include "executors/task.h"

/*
 * A count-down that one task waits for and any threads count down.
 *
 * It may live on the waiting task's stack: a wait returns 0 only after the last
 * latch_arrive() has stopped touching it.
 */
struct latch {
	pthread_mutex_t lock;
	unsigned remaining;  /* lock */
	struct task *waiter; /* lock; NULL while nobody waits */
};

/** Ready to be waited for after @count arrivals. */
void latch_init(struct latch *latch, unsigned count);
void latch_finish(struct latch *latch);

/** Count down by one. Any thread; at most @count times in all. */
void latch_arrive(struct latch *latch);

/**
 * Wait until the count is zero. Task only, one task per latch; parks.
 *
 * Returns 0, -ETIMEDOUT or -ECANCELED. On error arrivals are still due, so the
 * latch, and whatever they write to, must stay in place until a later wait
 * returns 0: latch_wait_masked(), which is never cancelled, is for that.
 */
int latch_wait(struct latch *latch, struct deadline deadline);
int latch_wait_masked(struct latch *latch, struct deadline deadline);

#endif
