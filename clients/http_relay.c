#include "clients/http_relay.h"

static void relay_tick(struct http_client *client)
{
	http_client_tick(((struct http_relay *)client)->inner);
}

void http_relay_init(struct http_relay *relay, struct http_client *inner,
                     enum http_failure (*call)(struct http_client *client, struct http_call *call,
                                               struct deadline deadline),
                     void (*destroy)(struct http_client *client))
{
	*relay = (struct http_relay){
		.client = {.ops = &relay->ops},
		.ops = {.name = inner->ops->name,
	                .call_bytes = inner->ops->call_bytes,
	                .call = call,
	                .tick = relay_tick,
	                .destroy = destroy},
		.inner = inner,
	};
}

void http_relay_finish(struct http_relay *relay)
{
	http_client_destroy(relay->inner);
}
