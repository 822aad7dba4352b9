#ifndef SERVER_UPSTREAM_CLIENTS_H
#define SERVER_UPSTREAM_CLIENTS_H

#include "clients/connection_gate.h"
#include "clients/http_client.h"
#include "clients/resolver.h"
#include "server/client_setup.h"
#include "server/config.h"

/*
 * What makes the calls, and what it needs.
 */
struct upstream_clients {
	struct resolver *resolver;
	struct connection_gate gate; /* for all connections to upstreams */
	bool has_gate;
	struct http_client *client; /* a metered one; NULL before the start, or without a URL */
	struct http_client *limits; /* borrowed from it; NULL: it has none, and can have none */
};

/**
 * For calls of @upstream, a URL, or NULL. @offload and @config are borrowed until the stop. Returns
 * 0, or a negative errno with one line in @error_text. Main thread only.
 */
int upstream_clients_start(struct upstream_clients *clients, const struct config *config,
                           const char *upstream, struct offload *offload,
                           char error_text[CLIENT_SETUP_ERROR_BYTES]);

/** No call is in progress. In any state of a start; zeroed too. */
void upstream_clients_stop(struct upstream_clients *clients);

/** How many connections to upstreams may be in use, by the limit of file descriptors or by
 * @config. */
unsigned upstream_connections(const struct config *config);

#endif
