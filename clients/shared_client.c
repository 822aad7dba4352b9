#include "clients/shared_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct shared_client {
	struct http_client client;                /* first */
	struct http_client_ops ops;               /* with the name of @for_http, which users see */
	struct http_client *for_http, *for_https; /* borrowed */
};

static enum http_failure shared_client_call(struct http_client *client, struct http_call *call,
                                            struct deadline deadline)
{
	struct shared_client *self = (struct shared_client *)client;
	bool is_https = strncasecmp(call->url, "https:", strlen("https:")) == 0;

	return http_call_pass_straight(is_https ? self->for_https : self->for_http, call, deadline);
}

static void shared_client_destroy(struct http_client *client)
{
	free(client);
}

int shared_client_create(struct http_client *for_http, struct http_client *for_https,
                         struct http_client **out)
{
	struct shared_client *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->ops = (struct http_client_ops){
		.name = for_http->ops->name,
		.call_bytes = for_http->ops->call_bytes,
		.call = shared_client_call,
		.destroy = shared_client_destroy,
	};
	self->client.ops = &self->ops;
	self->for_http = for_http;
	self->for_https = for_https;
	*out = &self->client;
	return 0;
}
