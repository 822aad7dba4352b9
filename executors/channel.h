#ifndef EXECUTORS_CHANNEL_H
#define EXECUTORS_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "executors/task.h"
#include "executors/wait_list.h"

/*
 * A bounded queue of items of one size, between any number of senders and
 * receivers on any executors. Items are copied, so they are small: a pointer, or
 * a struct that says what has happened.
 *
 * First in, first out, for items as well as for those who wait. With a capacity
 * of 0 a send waits until a receiver has taken the item.
 */
struct task_channel {
	pthread_mutex_t lock;
	size_t item_bytes, capacity; /* constant; @capacity in items */
	char *ring;                  /* lock; owned; NULL with a capacity of 0 */
	size_t first, count;         /* lock; items in the ring, from the index @first on */
	bool is_closed;              /* lock */
	struct wait_list senders;    /* lock; with a full ring only */
	struct wait_list receivers;  /* lock; with an empty ring and no senders only */
};

/** For @capacity items of @item_bytes, at least 1. Returns 0 or -ENOMEM. */
int task_channel_init(struct task_channel *channel, size_t item_bytes, size_t capacity);

/** Nobody sends or receives. Items that are still in it are forgotten. */
void task_channel_finish(struct task_channel *channel);

/**
 * Append a copy of @item, waiting for room until @deadline; free room is taken even if that has
 * passed.
 *
 * Task only; parks. Returns 0; -EPIPE the channel is, or was meanwhile, closed; -ETIMEDOUT;
 * -ECANCELED. On failure the item was not sent and never will be.
 */
int task_channel_send(struct task_channel *channel, const void *item, struct deadline deadline);

/**
 * Take the oldest item, waiting for one until @deadline; one that is there is taken even if that
 * has passed.
 *
 * Task only; parks. Returns 0; -EPIPE the channel is closed and empty; -ETIMEDOUT; -ECANCELED.
 * @item is untouched on failure.
 */
int task_channel_receive(struct task_channel *channel, void *item, struct deadline deadline);

/**
 * No more items: sends fail from now on, those that wait as well, and receives do once what was
 * sent before has been taken. Any thread; never waits. Closing twice is fine.
 */
void task_channel_close(struct task_channel *channel);

#endif
