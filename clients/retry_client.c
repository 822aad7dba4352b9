#include "clients/retry_client.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "clients/http_fail.h"
#include "clients/http_relay.h"
#include "clients/retry_budget.h"
#include "executors/task.h"

struct retry_client {
	struct http_relay relay;        /* first */
	struct retry_settings settings; /* constant */

	pthread_mutex_t lock; /* guards all below; held for moments */
	struct retry_budget budget;
	struct retry_random random;
	struct retry_stats stats;
};

static void count_call(struct retry_client *self, int64_t now_ns)
{
	pthread_mutex_lock(&self->lock);
	retry_budget_count_call(&self->budget, now_ns);
	pthread_mutex_unlock(&self->lock);
}

/* Nanoseconds until the next attempt, after @made of them; negative: there is not to be one. */
static int64_t plan_retry(struct retry_client *self, const struct http_call *call, unsigned made)
{
	int64_t now_ns = deadline_now_ns(), pause_ns;

	pthread_mutex_lock(&self->lock);
	pause_ns = retry_pause_ns(&self->settings, made, call, &self->random);
	if (!retry_has_time(now_ns, pause_ns, now_ns - call->started_ns, call->until)) {
		pause_ns = -1;
	} else if (!retry_budget_take(&self->budget, now_ns)) {
		self->stats.refused++;
		pause_ns = -1;
	} else {
		self->stats.retries++;
	}
	pthread_mutex_unlock(&self->lock);
	return pause_ns;
}

/* From the start of the first attempt, which may have waited for leave to start. */
static struct deadline end_of(const struct http_call *call)
{
	struct deadline timeout = DEADLINE_NEVER;

	if (call->timeout_ms > 0)
		timeout.ns = call->started_ns + (int64_t)call->timeout_ms * 1000000;
	return deadline_earlier(call->until, timeout);
}

static enum http_failure attempt_again(struct retry_client *self, struct http_call *call)
{
	enum http_failure failure = call->failure;

	for (unsigned made = 1; made < self->settings.attempts && retry_is_worth_it(call); made++) {
		int64_t pause_ns = plan_retry(self, call, made);
		int error;

		if (pause_ns < 0)
			break;
		http_call_forget(call);
		error = task_sleep_until(deadline_in_ns(pause_ns));
		if (error < 0)
			return http_fail_wait(call, error);
		failure = call->failure = http_call_pass_on(self->relay.inner, call);
	}
	return failure;
}

static enum http_failure retry_client_call(struct http_client *client, struct http_call *call,
                                           struct deadline deadline)
{
	struct retry_client *self = (struct retry_client *)client;
	struct deadline until = call->until;
	enum http_failure failure;
	int64_t started_ns;

	count_call(self, call->started_ns);
	call->failure = http_call_pass_straight(self->relay.inner, call, deadline);
	started_ns = call->started_ns;
	call->until = end_of(call);
	failure = attempt_again(self, call);
	call->until = until;
	call->started_ns = started_ns;
	return failure;
}

static void retry_client_destroy(struct http_client *client)
{
	struct retry_client *self = (struct retry_client *)client;

	http_relay_finish(&self->relay);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

int retry_client_create(struct http_client *inner, const struct retry_settings *settings,
                        uint64_t seed, struct http_client **out)
{
	struct retry_client *self = calloc(1, sizeof(*self));

	assert(settings->attempts >= 2);
	if (!self)
		return -ENOMEM;
	http_relay_init(&self->relay, inner, retry_client_call, retry_client_destroy);
	self->settings = *settings;
	self->random.state = seed;
	pthread_mutex_init(&self->lock, NULL);
	*out = &self->relay.client;
	return 0;
}

void retry_client_stats(struct http_client *client, struct retry_stats *out)
{
	struct retry_client *self = (struct retry_client *)client;

	pthread_mutex_lock(&self->lock);
	*out = self->stats;
	pthread_mutex_unlock(&self->lock);
}
