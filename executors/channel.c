#include "executors/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A sender or a receiver that waits; on its stack. */
struct channel_waiter {
	struct task_waiter waiter; /* first: wait_list_call_locked() returns it */
	const void *sent;          /* a sender's item */
	void *received;            /* where a receiver wants it */
	int result;                /* the channel's lock; what the wait returns once called */
};

int task_channel_init(struct task_channel *channel, size_t item_bytes, size_t capacity)
{
	char *ring = NULL;

	assert(item_bytes > 0);
	if (capacity > 0) {
		ring = calloc(capacity, item_bytes);
		if (!ring)
			return -ENOMEM;
	}
	*channel = (struct task_channel){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.item_bytes = item_bytes,
		.capacity = capacity,
		.ring = ring,
	};
	wait_list_init(&channel->senders);
	wait_list_init(&channel->receivers);
	return 0;
}

void task_channel_finish(struct task_channel *channel)
{
	assert(!channel->senders.first && !channel->receivers.first);
	free(channel->ring);
	pthread_mutex_destroy(&channel->lock);
}

static struct channel_waiter *call_locked(struct wait_list *list)
{
	return (struct channel_waiter *)wait_list_call_locked(list);
}

static char *slot_locked(struct task_channel *channel, size_t index)
{
	return channel->ring + (channel->first + index) % channel->capacity * channel->item_bytes;
}

static void append_locked(struct task_channel *channel, const void *item)
{
	memcpy(slot_locked(channel, channel->count), item, channel->item_bytes);
	channel->count++;
}

static void take_first_locked(struct task_channel *channel, void *item)
{
	memcpy(item, slot_locked(channel, 0), channel->item_bytes);
	channel->first = (channel->first + 1) % channel->capacity;
	channel->count--;
}

static int wait_locked(struct task_channel *channel, struct wait_list *list,
                       struct channel_waiter *waiter, struct deadline deadline)
{
	struct wait_site site = {
		.kind = list == &channel->senders ? WAIT_SEND : WAIT_RECEIVE,
		.object = channel,
	};
	int error = wait_list_wait_locked(list, &channel->lock, &waiter->waiter, site, deadline);

	return error < 0 ? error : waiter->result;
}

static int send_locked(struct task_channel *channel, const void *item, struct deadline deadline)
{
	struct channel_waiter self = {.sent = item}, *receiver;

	if (channel->is_closed)
		return -EPIPE;
	receiver = call_locked(&channel->receivers);
	if (receiver)
		memcpy(receiver->received, item, channel->item_bytes);
	else if (channel->count < channel->capacity)
		append_locked(channel, item);
	else
		return wait_locked(channel, &channel->senders, &self, deadline);
	return 0;
}

static int receive_locked(struct task_channel *channel, void *item, struct deadline deadline)
{
	struct channel_waiter self = {.received = item}, *sender;
	bool is_taken = channel->count > 0;

	if (is_taken)
		take_first_locked(channel, item);
	sender = call_locked(&channel->senders);
	if (sender && is_taken)
		append_locked(channel, sender->sent);
	else if (sender)
		memcpy(item, sender->sent, channel->item_bytes);
	if (is_taken || sender)
		return 0;
	if (channel->is_closed)
		return -EPIPE;
	return wait_locked(channel, &channel->receivers, &self, deadline);
}

int task_channel_send(struct task_channel *channel, const void *item, struct deadline deadline)
{
	int error;

	pthread_mutex_lock(&channel->lock);
	error = send_locked(channel, item, deadline);
	pthread_mutex_unlock(&channel->lock);
	return error;
}

int task_channel_receive(struct task_channel *channel, void *item, struct deadline deadline)
{
	int error;

	pthread_mutex_lock(&channel->lock);
	error = receive_locked(channel, item, deadline);
	pthread_mutex_unlock(&channel->lock);
	return error;
}

static void refuse_all_locked(struct wait_list *list)
{
	struct channel_waiter *waiter;

	while ((waiter = call_locked(list)))
		waiter->result = -EPIPE;
}

void task_channel_close(struct task_channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	channel->is_closed = true;
	refuse_all_locked(&channel->senders);
	refuse_all_locked(&channel->receivers);
	pthread_mutex_unlock(&channel->lock);
}
