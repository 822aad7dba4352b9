#ifndef CLIENTS_CURL_CLIENT_H
#define CLIENTS_CURL_CLIENT_H

#include "clients/connection_gate.h"
#include "clients/http_client.h"
#include "clients/resolver.h"

/* The client for everything libcurl speaks. Read curl_client.c for how it shares a carrier. */
struct curl_client_options {
	int64_t connect_timeout_ms;   /* at least 1 */
	struct resolver *resolver;    /* borrowed; outlives the client */
	struct connection_gate *gate; /* likewise: a call takes room, as if it had a connection of
	                                 its own, unless it may share one; NULL: any number */
	const char *ca_file; /* PEM: whose certificates are trusted; NULL: the system's. Borrowed
	                        for the call below */
	bool insecure;       /* believe every https server */
	bool http2;          /* with those https servers that speak it */
};

/**
 * On success *@out is the caller's, to be given to http_client_destroy() after
 * the executors that used it have been destroyed.
 *
 * Returns 0; -ENOMEM; -ENOSYS: this libcurl lacks what we need; for ca_file what
 * curl_tls_init() does. Any thread.
 */
int curl_client_create(const struct curl_client_options *options, struct http_client **out);

#endif
