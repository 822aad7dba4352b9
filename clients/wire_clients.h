#ifndef CLIENTS_WIRE_CLIENTS_H
#define CLIENTS_WIRE_CLIENTS_H

#include <stdbool.h>

#include "clients/connection_gate.h"
#include "clients/http_client.h"
#include "clients/resolver.h"

/*
 * The clients that speak on the wire, one for each way in which upstreams want to be
 * spoken to. They are shared, with their connections, by all upstreams that want the
 * same, and stay until the end: carriers keep parts of them, and a configuration that comes back
 * finds its connections again.
 */
struct wire_clients;

enum wire_protocol {
	WIRE_AUTO,  /* http1 for http://, curl for https:// */
	WIRE_HTTP1, /* http:// alone */
	WIRE_CURL,
};

struct wire_clients_options {
	enum wire_protocol protocol;
	struct resolver *resolver;    /* borrowed; outlives the clients */
	struct connection_gate *gate; /* likewise; NULL: any number of connections */
};

/** How an upstream wants to be spoken to. What its protocol has no use for is ignored. */
struct wire_settings {
	unsigned connect_timeout_ms; /* at least 1 */
	const char *ca_file;         /* PEM; another one of this name is another setting. NULL: the
	                                system's */
	bool insecure;               /* believe every https server */
	bool http2;                  /* with those https servers that speak it */
};

/** *@out is the caller's, for wire_clients_destroy(). Returns 0 or -ENOMEM. */
int wire_clients_create(const struct wire_clients_options *options, struct wire_clients **out);

/** The executors whose tasks used them have been destroyed. NULL is ignored. */
void wire_clients_destroy(struct wire_clients *clients);

/**
 * The client for URLs of https://, or of http://, that wants @settings, which are borrowed for the
 * call. On success *@out is borrowed, until the end.
 *
 * Returns 0; -EPROTONOSUPPORT http1 speaks no https; -ENOMEM; what curl_client_create() does. Any
 * thread; may read a file.
 */
int wire_clients_find(struct wire_clients *clients, const struct wire_settings *settings,
                      bool is_tls, struct http_client **out);

/** http_client_tick() for all of them. Any thread. */
void wire_clients_tick(struct wire_clients *clients);

#endif
