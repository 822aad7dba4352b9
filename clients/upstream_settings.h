#ifndef CLIENTS_UPSTREAM_SETTINGS_H
#define CLIENTS_UPSTREAM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/breaker.h"
#include "clients/hedge.h"
#include "clients/http_header.h"
#include "clients/retry.h"
#include "clients/upstream.h"
#include "clients/wire_clients.h"

/* What is configured of one upstream. Texts are NUL-terminated. */
struct upstream_settings {
	const char *name;    /* NULL: the default upstream, of which there is at most one */
	const char *url;     /* http:// or https://; its scheme, host and port alone count. NULL:
	                        for absolute URLs of any host; all of them have one breaker */
	unsigned timeout_ms; /* of a call that says none; 0: none */

	/* Sent with every call, before those of the call itself. Valid, see http_header.h. */
	const struct http_header *headers;
	size_t header_count;

	struct upstream_limits limits;   /* zeroed: none */
	struct retry_settings retry;     /* zeroed: no retry */
	struct breaker_settings breaker; /* zeroed: no breaker */
	struct hedge_settings hedge;     /* zeroed: no hedging */
	struct wire_settings wire;

	/* Makes the attempts, within limits of its own: borrowed, and outlives the set. NULL: one
	 * of the set's wire_clients. */
	struct http_client *client;
};

/** The same in everything. Any thread. */
bool upstream_settings_are_equal(const struct upstream_settings *a,
                                 const struct upstream_settings *b);

/**
 * Copy @settings, all texts included, into one block. *@out is the caller's, for free(); its client
 * is borrowed still. Returns 0 or -ENOMEM.
 */
int upstream_settings_copy(const struct upstream_settings *settings,
                           struct upstream_settings **out);

#endif
