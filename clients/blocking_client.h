#ifndef CLIENTS_BLOCKING_CLIENT_H
#define CLIENTS_BLOCKING_CLIENT_H

#include "clients/http_client.h"

/**
 * A client that blocks the thread under the calling task, as code does that knows
 * nothing of tasks: for experiments with such code, and nothing else.
 *
 * GET over http:// to an address, not a name; HTTP/1.0, a connection a call. It
 * keeps to the deadline, but hears of a cancellation only then. https:// is
 * HTTP_TLS, a name HTTP_DNS. Replies are counted: count_only must be set. A call may bring no
 * headers, keep none, and have no policy for addresses.
 *
 * On success *@out is the caller's, to be given to http_client_destroy(). Returns 0 or -ENOMEM.
 * Any thread.
 */
int blocking_client_create(struct http_client **out);

#endif
