#include "clients/shared_limits.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct shared_limits {
	struct http_client *client; /* owned; constant */
	atomic_uint references; /* release on the way down, acquire by the last: it frees what the
	                           others have used */
};

int shared_limits_create(struct http_client *inner, const struct upstream_limits *limits,
                         struct shared_limits **out)
{
	struct shared_limits *self = calloc(1, sizeof(*self));
	int error;

	if (!self)
		return -ENOMEM;
	atomic_init(&self->references, 1);
	error = upstream_client_create(inner, limits, &self->client);
	if (error < 0) {
		free(self);
		return error;
	}
	*out = self;
	return 0;
}

struct shared_limits *shared_limits_acquire(struct shared_limits *limits)
{
	atomic_fetch_add_explicit(&limits->references, 1, memory_order_relaxed);
	return limits;
}

void shared_limits_release(struct shared_limits *limits)
{
	if (!limits || atomic_fetch_sub_explicit(&limits->references, 1, memory_order_acq_rel) > 1)
		return;
	http_client_destroy(limits->client);
	free(limits);
}

struct http_client *shared_limits_client(struct shared_limits *limits)
{
	return limits->client;
}
