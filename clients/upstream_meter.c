#include "clients/upstream_meter.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http_relay.h"
#include "clients/latency_window.h"

#define MS_NS INT64_C(1000000)

const int64_t upstream_duration_bounds_ns[UPSTREAM_DURATION_BOUNDS] = {
	5 * MS_NS,    10 * MS_NS,   25 * MS_NS,   50 * MS_NS,    75 * MS_NS,
	100 * MS_NS,  250 * MS_NS,  500 * MS_NS,  750 * MS_NS,   1000 * MS_NS,
	2500 * MS_NS, 5000 * MS_NS, 7500 * MS_NS, 10000 * MS_NS,
};

struct upstream_meter {
	struct http_relay relay; /* first */

	atomic_uint in_flight; /* relaxed: a statistic */

	pthread_mutex_t lock; /* guards all below; held for moments */
	uint64_t results[UPSTREAM_RESULTS];
	uint64_t attempts;
	uint64_t durations[UPSTREAM_DURATION_BOUNDS + 1];
	int64_t durations_ns;
	struct latency_window replies; /* whole ones */
};

const char *upstream_result_name(unsigned result)
{
	assert(result < UPSTREAM_RESULTS);
	return result == UPSTREAM_BAD_STATUS ? "bad_status"
	                                     : http_failure_name((enum http_failure)result);
}

static unsigned duration_class(int64_t took_ns)
{
	unsigned class = 0;

	while (class < UPSTREAM_DURATION_BOUNDS && took_ns > upstream_duration_bounds_ns[class])
		class ++;
	return class;
}

static void count_end(struct upstream_meter *self, const struct http_call *call,
                      enum http_failure failure)
{
	int64_t now_ns = deadline_now_ns(), took_ns = now_ns - call->started_ns;

	pthread_mutex_lock(&self->lock);
	self->results[upstream_result(failure, call->status)]++;
	self->attempts += call->attempts;
	self->durations[duration_class(took_ns)]++;
	self->durations_ns += took_ns;
	if (failure == HTTP_OK)
		latency_window_add(&self->replies, now_ns, took_ns);
	pthread_mutex_unlock(&self->lock);
}

static enum http_failure upstream_meter_call(struct http_client *client, struct http_call *call,
                                             struct deadline deadline)
{
	struct upstream_meter *self = (struct upstream_meter *)client;
	enum http_failure failure;

	atomic_fetch_add_explicit(&self->in_flight, 1, memory_order_relaxed);
	failure = http_call_pass_straight(self->relay.inner, call, deadline);
	atomic_fetch_sub_explicit(&self->in_flight, 1, memory_order_relaxed);
	count_end(self, call, failure);
	return failure;
}

static void upstream_meter_destroy(struct http_client *client)
{
	struct upstream_meter *self = (struct upstream_meter *)client;

	http_relay_finish(&self->relay);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

int upstream_meter_create(struct http_client *inner, struct http_client **out)
{
	struct upstream_meter *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	http_relay_init(&self->relay, inner, upstream_meter_call, upstream_meter_destroy);
	pthread_mutex_init(&self->lock, NULL);
	*out = &self->relay.client;
	return 0;
}

void upstream_meter_stats(struct http_client *client, struct upstream_stats *out)
{
	struct upstream_meter *self = (struct upstream_meter *)client;

	pthread_mutex_lock(&self->lock);
	memcpy(out->results, self->results, sizeof(out->results));
	memcpy(out->durations, self->durations, sizeof(out->durations));
	out->durations_ns = self->durations_ns;
	out->in_flight = atomic_load_explicit(&self->in_flight, memory_order_relaxed);
	out->attempts = self->attempts;
	out->p50_ns = latency_window_percentile(&self->replies, 50);
	out->p95_ns = latency_window_percentile(&self->replies, 95);
	out->p99_ns = latency_window_percentile(&self->replies, 99);
	pthread_mutex_unlock(&self->lock);
}
