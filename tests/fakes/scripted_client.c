#include "tests/fakes/scripted_client.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http_reply_headers.h"
#include "executors/task.h"

struct scripted_client {
	struct http_client client;
	struct scripted_options options; /* constant; the replies are owned */
	pthread_mutex_t lock;
	struct scripted_stats stats; /* lock */
};

static struct scripted_client *scripted(struct http_client *client)
{
	return (struct scripted_client *)((char *)client -
	                                  offsetof(struct scripted_client, client));
}

static unsigned count_start(struct scripted_client *self)
{
	unsigned index;

	pthread_mutex_lock(&self->lock);
	index = self->stats.calls++;
	if (++self->stats.in_flight > self->stats.peak_in_flight)
		self->stats.peak_in_flight = self->stats.in_flight;
	pthread_mutex_unlock(&self->lock);
	return index;
}

static void count_end(struct scripted_client *self)
{
	pthread_mutex_lock(&self->lock);
	self->stats.in_flight--;
	pthread_mutex_unlock(&self->lock);
}

static enum http_failure wait_for_reply(int64_t delay_ns, struct deadline deadline)
{
	struct deadline reply_at = deadline_in_ns(delay_ns);

	if (delay_ns > 0 && task_sleep_until(deadline_earlier(reply_at, deadline)) == -ECANCELED)
		return task_cancel_reason() == CANCEL_DEADLINE ? HTTP_TIMEOUT : HTTP_CANCELED;
	return deadline.ns < reply_at.ns ? HTTP_TIMEOUT : HTTP_OK;
}

static void fill_headers(struct http_call *call, const struct scripted_reply *reply)
{
	struct http_reply_headers headers;
	size_t bytes = 0;

	for (size_t i = 0; i < reply->header_count; i++)
		bytes += strlen(reply->headers[i].name) + strlen(reply->headers[i].value) + 2;
	assert(http_reply_headers_init(&headers, reply->header_count, bytes) == 0);
	for (size_t i = 0; i < reply->header_count; i++)
		http_reply_headers_add(&headers, reply->headers[i].name,
		                       strlen(reply->headers[i].name), reply->headers[i].value,
		                       strlen(reply->headers[i].value));
	http_reply_headers_move(&headers, call);
}

static enum http_failure fill_reply(struct http_call *call, const struct scripted_reply *reply)
{
	call->replied = true;
	call->has_retry_after = reply->has_retry_after;
	call->retry_after_s = reply->retry_after_s;
	if (reply->bytes > call->max_reply_bytes)
		return HTTP_TOO_LARGE;
	if (call->keep_headers)
		fill_headers(call, reply);
	call->status = reply->status ? reply->status : 200;
	call->reply_len = reply->bytes;
	if (call->count_only)
		return HTTP_OK;
	call->reply = malloc(reply->bytes + 1);
	assert(call->reply);
	memset(call->reply, 'x', reply->bytes);
	call->reply[reply->bytes] = '\0';
	return HTTP_OK;
}

static enum http_failure scripted_call(struct http_client *client, struct http_call *call,
                                       struct deadline deadline)
{
	struct scripted_client *self = scripted(client);
	const struct scripted_options *options = &self->options;
	struct scripted_reply reply = {0};
	unsigned index = count_start(self);
	enum http_failure failure;

	if (options->reply_count > 0)
		reply = options->replies[index % options->reply_count];
	if (options->adjust)
		options->adjust(options->arg, call, index, &reply);

	call->attempts++;
	failure = wait_for_reply(reply.delay_ns, deadline);
	if (failure == HTTP_OK) {
		failure = reply.failure;
		call->replied = reply.replied;
	}
	if (failure == HTTP_OK)
		failure = fill_reply(call, &reply);
	if (failure != HTTP_OK)
		call->reason = "as scripted";
	count_end(self);
	return failure;
}

static void scripted_tick(struct http_client *client)
{
	struct scripted_client *self = scripted(client);

	pthread_mutex_lock(&self->lock);
	self->stats.ticks++;
	pthread_mutex_unlock(&self->lock);
}

static void scripted_destroy(struct http_client *client)
{
	struct scripted_client *self = scripted(client);

	assert(self->stats.in_flight == 0);
	pthread_mutex_destroy(&self->lock);
	free((void *)self->options.replies);
	free(self);
}

static const struct http_client_ops scripted_ops = {
	.name = "scripted",
	.call = scripted_call,
	.tick = scripted_tick,
	.destroy = scripted_destroy,
};

int scripted_client_create(const struct scripted_options *options, struct http_client **out)
{
	size_t bytes = options->reply_count * sizeof(*options->replies);
	struct scripted_client *self = calloc(1, sizeof(*self));
	struct scripted_reply *replies = malloc(bytes ? bytes : 1);

	if (!self || !replies) {
		free(replies);
		free(self);
		return -ENOMEM;
	}
	if (bytes > 0)
		memcpy(replies, options->replies, bytes);
	self->client.ops = &scripted_ops;
	self->options = *options;
	self->options.replies = replies;
	pthread_mutex_init(&self->lock, NULL);
	*out = &self->client;
	return 0;
}

void scripted_client_stats(struct http_client *client, struct scripted_stats *out)
{
	struct scripted_client *self = scripted(client);

	pthread_mutex_lock(&self->lock);
	*out = self->stats;
	pthread_mutex_unlock(&self->lock);
}
