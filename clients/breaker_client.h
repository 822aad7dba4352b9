#ifndef CLIENTS_BREAKER_CLIENT_H
#define CLIENTS_BREAKER_CLIENT_H

#include "clients/breaker.h"
#include "clients/http_client.h"

/*
 * A client that passes calls on to another one as long as the breaker allows it
 * (breaker.h); the others fail with HTTP_BREAKER at once. An error is a call that failed
 * in the network or in time, or a status of 500 and more; what never reached the
 * upstream or was cancelled says nothing about it.
 */

struct breaker_stats {
	enum breaker_state state;
	uint64_t opened; /* how often it has */
};

/** On success @inner is owned by *@out, which is the caller's for http_client_destroy(). Returns 0
 * or -ENOMEM. */
int breaker_client_create(struct http_client *inner, const struct breaker_settings *settings,
                          struct http_client **out);

/** Of a client made above. Any thread. */
void breaker_client_stats(struct http_client *client, struct breaker_stats *out);

#endif
