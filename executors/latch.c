#include "executors/latch.h"

#include <assert.h>

void latch_init(struct latch *latch, unsigned count)
{
	*latch = (struct latch){.lock = PTHREAD_MUTEX_INITIALIZER, .remaining = count};
}

void latch_finish(struct latch *latch)
{
	pthread_mutex_destroy(&latch->lock);
}

void latch_arrive(struct latch *latch)
{
	pthread_mutex_lock(&latch->lock);
	assert(latch->remaining > 0);
	/* Under the lock, so that the waiter cannot leave with the latch before we are done. */
	if (--latch->remaining == 0 && latch->waiter)
		task_wake(latch->waiter);
	pthread_mutex_unlock(&latch->lock);
}

static int wait_by(int (*park)(struct wait_site site, struct deadline deadline),
                   struct latch *latch, struct deadline deadline)
{
	struct wait_site site = {.kind = WAIT_LATCH, .object = latch};
	int error = 0;

	pthread_mutex_lock(&latch->lock);
	assert(!latch->waiter);
	latch->waiter = task_current();
	while (latch->remaining > 0 && error == 0) {
		pthread_mutex_unlock(&latch->lock);
		error = park(site, deadline);
		pthread_mutex_lock(&latch->lock);
	}
	latch->waiter = NULL;
	if (latch->remaining == 0)
		error = 0;
	pthread_mutex_unlock(&latch->lock);
	return error;
}

int latch_wait(struct latch *latch, struct deadline deadline)
{
	return wait_by(task_park_at, latch, deadline);
}

int latch_wait_masked(struct latch *latch, struct deadline deadline)
{
	return wait_by(task_park_masked_at, latch, deadline);
}
