#ifndef CLIENTS_HTTP1_CLIENT_H
#define CLIENTS_HTTP1_CLIENT_H

#include "clients/connection_gate.h"
#include "clients/http_client.h"
#include "clients/resolver.h"

/*
 * The client for http:// URLs: HTTP/1.1 in blocking code on struct io, with
 * connections kept alive on each carrier. An https:// URL is HTTP_TLS.
 *
 * A call that may be repeated (GET, HEAD, PUT, DELETE) is sent a second time, upon
 * a new connection, if the server closed a kept one instead of answering. Others
 * (POST) are sent once, upon a new connection each.
 */
struct http1_client_options {
	int64_t connect_timeout_ms;   /* at least 1 */
	struct resolver *resolver;    /* borrowed; outlives the client */
	struct connection_gate *gate; /* likewise; NULL: any number of connections */
};

/**
 * On success *@out is the caller's, to be given to http_client_destroy() after
 * the executors that used it have been destroyed. Returns 0 or -ENOMEM. Any thread.
 */
int http1_client_create(const struct http1_client_options *options, struct http_client **out);

#endif
