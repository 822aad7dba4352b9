#include "clients/breaker_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "clients/http_fail.h"
#include "clients/http_relay.h"

struct breaker_client {
	struct http_relay relay; /* first */
	pthread_mutex_t lock;    /* held for moments */
	struct breaker breaker;  /* lock */
};

static enum breaker_report report_of(enum http_failure failure, int status)
{
	switch (failure) {
	case HTTP_OK:
		return status >= 500 ? BREAKER_ERROR : BREAKER_SUCCESS;
	case HTTP_TOO_LARGE:
		return BREAKER_SUCCESS;
	case HTTP_CANCELED:
	case HTTP_FD_LIMIT:
	case HTTP_NO_PERMIT:
	case HTTP_BREAKER:
		return BREAKER_NOTHING;
	default:
		return BREAKER_ERROR;
	}
}

static enum http_failure breaker_client_call(struct http_client *client, struct http_call *call,
                                             struct deadline deadline)
{
	struct breaker_client *self = (struct breaker_client *)client;
	unsigned attempts = call->attempts;
	enum breaker_report report;
	enum http_failure failure;
	bool is_admitted;
	uint64_t turn;

	pthread_mutex_lock(&self->lock);
	is_admitted = breaker_admit(&self->breaker, call->started_ns, &turn);
	pthread_mutex_unlock(&self->lock);
	if (!is_admitted)
		return http_fail(call, HTTP_BREAKER, "the upstream's breaker is open");

	failure = http_call_pass_straight(self->relay.inner, call, deadline);
	/* It may have timed out before it was sent: waiting for its turn or a permit. */
	report = call->attempts > attempts ? report_of(failure, call->status) : BREAKER_NOTHING;
	pthread_mutex_lock(&self->lock);
	breaker_report(&self->breaker, deadline_now_ns(), turn, report);
	pthread_mutex_unlock(&self->lock);
	return failure;
}

static void breaker_client_destroy(struct http_client *client)
{
	struct breaker_client *self = (struct breaker_client *)client;

	http_relay_finish(&self->relay);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

int breaker_client_create(struct http_client *inner, const struct breaker_settings *settings,
                          struct http_client **out)
{
	struct breaker_client *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	http_relay_init(&self->relay, inner, breaker_client_call, breaker_client_destroy);
	breaker_init(&self->breaker, settings);
	pthread_mutex_init(&self->lock, NULL);
	*out = &self->relay.client;
	return 0;
}

void breaker_client_stats(struct http_client *client, struct breaker_stats *out)
{
	struct breaker_client *self = (struct breaker_client *)client;

	pthread_mutex_lock(&self->lock);
	*out = (struct breaker_stats){self->breaker.state, self->breaker.opened};
	pthread_mutex_unlock(&self->lock);
}
