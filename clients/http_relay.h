#ifndef CLIENTS_HTTP_RELAY_H
#define CLIENTS_HTTP_RELAY_H

#include "clients/http_client.h"

/*
 * What the clients have in common that pass calls on to another one, which is theirs. Users see
 * the name of the inner one, and it has its ticks. Embed it first.
 */
struct http_relay {
	struct http_client client; /* first */
	struct http_client_ops ops;
	struct http_client *inner; /* owned; constant */
};

/** Have @relay pass calls on by @call to @inner, which is owned from here on. @destroy frees what
 * it is embedded in, by http_relay_finish() first. */
void http_relay_init(struct http_relay *relay, struct http_client *inner,
                     enum http_failure (*call)(struct http_client *client, struct http_call *call,
                                               struct deadline deadline),
                     void (*destroy)(struct http_client *client));

/** Destroy the inner client. */
void http_relay_finish(struct http_relay *relay);

#endif
