#ifndef SERVER_CLIENT_SETUP_H
#define SERVER_CLIENT_SETUP_H

#include "clients/connection_gate.h"
#include "clients/http_client.h"
#include "clients/resolver.h"
#include "server/config.h"

enum { CLIENT_SETUP_ERROR_BYTES = 400 };

/**
 * Create what makes the calls to @upstream: the client that @config asks for, behind its limits and
 * a meter (metered_client.h). Logs a warning if servers are not to be verified.
 *
 * @resolver and @gate are borrowed. On success *@out is the caller's, for http_client_destroy(),
 * and
 * *@limits is the part of it whose limits can be changed (upstream.h), or NULL.
 * Otherwise returns a negative errno, and why in one line in @error_text. Reads the file of
 * --upstream-ca.
 */
int client_setup(const struct config *config, const char *upstream, struct resolver *resolver,
                 struct connection_gate *gate, struct http_client **out,
                 struct http_client **limits, char error_text[CLIENT_SETUP_ERROR_BYTES]);

#endif
