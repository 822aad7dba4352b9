#include "clients/upstream.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/http_fail.h"
#include "clients/http_relay.h"
#include "clients/url_host.h"
#include "executors/semaphore.h"
#include "executors/task.h"

enum { BUCKETS = 256 };

/* Permits of a semaphore where there is no limit: calls that waited for one find it. */
enum { PERMITS_MANY = 1 << 30 };

#define SECOND_NS INT64_C(1000000000)

/* Kept until the client ends. */
struct upstream {
	struct upstream *next; /* in its bucket; the table's lock */
	struct task_semaphore permits;
	pthread_mutex_t lock; /* guards @start_ns; held for moments */
	int64_t start_ns;     /* when the next call may start */
	uint16_t port;        /* constant, as are those below */
	size_t name_len;
	char name[]; /* not terminated */
};

struct upstream_client {
	struct http_relay relay; /* first */
	/* Of upstream_limits. Written with the lock; relaxed: a call that comes at the same time
	 * may as well have come before, and what is free is the semaphores' to say. */
	atomic_uint permits, permit_wait_ms, per_second;

	pthread_mutex_t lock; /* guards the table, and how many permits its semaphores have */
	struct upstream *buckets[BUCKETS];
	unsigned count;

	atomic_uint waiting; /* for a permit; relaxed: a statistic */
};

static struct upstream_limits limits_of(struct upstream_client *self)
{
	return (struct upstream_limits){
		.permits = atomic_load_explicit(&self->permits, memory_order_relaxed),
		.permit_wait_ms = atomic_load_explicit(&self->permit_wait_ms, memory_order_relaxed),
		.per_second = atomic_load_explicit(&self->per_second, memory_order_relaxed),
	};
}

static void store_limits(struct upstream_client *self, const struct upstream_limits *limits)
{
	atomic_store_explicit(&self->permits, limits->permits, memory_order_relaxed);
	atomic_store_explicit(&self->permit_wait_ms, limits->permit_wait_ms, memory_order_relaxed);
	atomic_store_explicit(&self->per_second, limits->per_second, memory_order_relaxed);
}

static unsigned permits_of(unsigned limit)
{
	return limit > 0 ? limit : PERMITS_MANY;
}

/* ------ the table */

static unsigned bucket_of(const struct url_host *host)
{
	return url_host_hash(host->name, host->name_len, host->port) % BUCKETS;
}

static bool is_of(const struct upstream *upstream, const struct url_host *host)
{
	return upstream->port == host->port && upstream->name_len == host->name_len &&
	       strncasecmp(upstream->name, host->name, host->name_len) == 0;
}

static struct upstream *add_locked(struct upstream_client *self, const struct url_host *host,
                                   unsigned bucket)
{
	struct upstream *upstream = malloc(sizeof(*upstream) + host->name_len);

	if (!upstream)
		return NULL;
	*upstream = (struct upstream){
		.next = self->buckets[bucket],
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.port = host->port,
		.name_len = host->name_len,
	};
	memcpy(upstream->name, host->name, host->name_len);
	task_semaphore_init(&upstream->permits, permits_of(limits_of(self).permits));
	self->buckets[bucket] = upstream;
	self->count++;
	return upstream;
}

static struct upstream *find(struct upstream_client *self, const struct url_host *host)
{
	unsigned bucket = bucket_of(host);
	struct upstream *upstream;

	pthread_mutex_lock(&self->lock);
	for (upstream = self->buckets[bucket]; upstream && !is_of(upstream, host);)
		upstream = upstream->next;
	if (!upstream && self->count < UPSTREAMS_MAX)
		upstream = add_locked(self, host, bucket);
	/* There are too many: it shares with one that is there. */
	for (unsigned i = 0; !upstream && i < BUCKETS; i++)
		upstream = self->buckets[(bucket + i) % BUCKETS];
	pthread_mutex_unlock(&self->lock);
	return upstream;
}

/* ------ a call */

/* When a call may start that asks now. If that is after @until its place is left to others. */
static int64_t take_start(struct upstream *upstream, unsigned per_second, struct deadline until)
{
	int64_t now_ns = deadline_now_ns(), start_ns;

	pthread_mutex_lock(&upstream->lock);
	start_ns = upstream->start_ns > now_ns ? upstream->start_ns : now_ns;
	if (start_ns <= until.ns)
		upstream->start_ns = start_ns + SECOND_NS / per_second;
	pthread_mutex_unlock(&upstream->lock);
	return start_ns;
}

/* Without a wait that could not end well. */
static enum http_failure wait_for_start(struct upstream *upstream, unsigned per_second,
                                        struct http_call *call)
{
	int64_t start_ns;
	int error;

	if (per_second == 0)
		return HTTP_OK;
	start_ns = take_start(upstream, per_second, call->until);
	if (start_ns > call->until.ns)
		return http_fail_wait(call, -ETIMEDOUT);
	if (start_ns <= deadline_now_ns())
		return HTTP_OK;
	error = task_sleep_until((struct deadline){start_ns});
	return error < 0 ? http_fail_wait(call, error) : HTTP_OK;
}

static enum http_failure wait_for_permit(struct upstream_client *self, struct upstream *upstream,
                                         const struct upstream_limits *limits,
                                         struct http_call *call)
{
	struct deadline patience;
	int error;

	if (limits->permits == 0 || task_semaphore_try_acquire(&upstream->permits) == 0)
		return HTTP_OK;
	patience = deadline_in_ms(limits->permit_wait_ms);
	atomic_fetch_add_explicit(&self->waiting, 1, memory_order_relaxed);
	error = task_semaphore_acquire(&upstream->permits, deadline_earlier(patience, call->until));
	atomic_fetch_sub_explicit(&self->waiting, 1, memory_order_relaxed);
	if (error == -ETIMEDOUT && patience.ns <= call->until.ns)
		return http_fail(call, HTTP_NO_PERMIT, "no permit for a call to this upstream");
	return error < 0 ? http_fail_wait(call, error) : HTTP_OK;
}

static enum http_failure upstream_client_call(struct http_client *client, struct http_call *call,
                                              struct deadline deadline)
{
	struct upstream_client *self = (struct upstream_client *)client;
	const struct upstream_limits limits = limits_of(self);
	struct upstream *upstream;
	struct url_host host;
	enum http_failure failure;

	if (limits.permits == 0 && limits.per_second == 0)
		return http_call_pass_straight(self->relay.inner, call, deadline);
	if (url_host_find(call->url, &host) < 0)
		return http_call_pass_on(self->relay.inner,
		                         call); /* which says what is wrong with it */
	/* From here on the call has not begun, and its @deadline says nothing. */
	upstream = find(self, &host);
	if (!upstream)
		return http_fail(call, HTTP_FD_LIMIT, "out of memory");
	/* The rate first: nobody holds a permit while it waits. */
	failure = wait_for_start(upstream, limits.per_second, call);
	if (failure == HTTP_OK)
		failure = wait_for_permit(self, upstream, &limits, call);
	if (failure != HTTP_OK)
		return failure;
	failure = http_call_pass_on(self->relay.inner, call);
	if (limits.permits > 0)
		task_semaphore_release(&upstream->permits);
	return failure;
}

static void upstream_client_destroy(struct http_client *client)
{
	struct upstream_client *self = (struct upstream_client *)client;

	http_relay_finish(&self->relay);
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct upstream *upstream;

		while ((upstream = self->buckets[i])) {
			self->buckets[i] = upstream->next;
			task_semaphore_finish(&upstream->permits);
			pthread_mutex_destroy(&upstream->lock);
			free(upstream);
		}
	}
	pthread_mutex_destroy(&self->lock);
	free(self);
}

int upstream_client_create(struct http_client *inner, const struct upstream_limits *limits,
                           struct http_client **out)
{
	struct upstream_client *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	http_relay_init(&self->relay, inner, upstream_client_call, upstream_client_destroy);
	store_limits(self, limits);
	pthread_mutex_init(&self->lock, NULL);
	*out = &self->relay.client;
	return 0;
}

void upstream_client_set_limits(struct http_client *client, const struct upstream_limits *limits)
{
	struct upstream_client *self = (struct upstream_client *)client;
	int more;

	pthread_mutex_lock(&self->lock);
	more = (int)permits_of(limits->permits) - (int)permits_of(limits_of(self).permits);
	store_limits(self, limits);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct upstream *at = self->buckets[i]; at; at = at->next)
			task_semaphore_change(&at->permits, more);
	pthread_mutex_unlock(&self->lock);
}

void upstream_client_usage(struct http_client *client, struct upstream_usage *out)
{
	struct upstream_client *self = (struct upstream_client *)client;
	unsigned in_use = 0;
	int permits;

	pthread_mutex_lock(&self->lock);
	permits = (int)permits_of(limits_of(self).permits);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct upstream *at = self->buckets[i]; at; at = at->next)
			in_use += (unsigned)(permits - task_semaphore_free(&at->permits));
	pthread_mutex_unlock(&self->lock);
	*out = (struct upstream_usage){
		.permits_in_use = in_use,
		.waiting = atomic_load_explicit(&self->waiting, memory_order_relaxed),
	};
}
