#ifndef CLIENTS_HTTP1_EXCHANGE_H
#define CLIENTS_HTTP1_EXCHANGE_H

#include "clients/http1_client.h"
#include "clients/http1_set.h"
#include "clients/url_host.h"

/*
 * One call of the http1 client, and the two halves of an attempt to make it: the
 * request is sent (http1_send.c), the reply received (http1_receive.c). What a
 * server does not take at once of a long request is sent while the reply is waited
 * for, since it may come first.
 */

/** On its task's stack. */
struct http1_exchange {
	const struct http1_client_options *options; /* the client's */
	struct http1_left *left;                    /* likewise */
	struct http1_peers *peers;                  /* likewise */
	struct http_call *call;
	struct http1_destination to;
	struct http1_wait wait;
	struct http1_request *request;

	/* Of one attempt. */
	struct http1_lease lease;
	struct http1_sending sending;
	struct http1_reply reply;
	struct http1_buffer *buffer; /* NULL while it waits, but with a part of a head */
	size_t held;                 /* bytes in @buffer that are not read as the reply yet */
	size_t capacity;             /* allocated at call->reply */
	bool is_stale;               /* the server has closed a kept connection */
};

/** Connect the leased connection if it is new, to one address after another, and send what the
 * server takes. Task only; parks. HTTP_OK: the reply is to be received. */
enum http_failure http1_exchange_send(struct http1_exchange *exchange);

/** Receive the reply, and send the rest of the request until its status has come. Task only;
 * parks. */
enum http_failure http1_exchange_receive(struct http1_exchange *exchange);

/** How the call has failed if connecting or sending has with @error. Task only. */
enum http_failure http1_exchange_fail(struct http1_exchange *exchange, int error);

/** Give up the buffer, if there is one, and what is in it. Task only. */
void http1_exchange_release_buffer(struct http1_exchange *exchange);

#endif
