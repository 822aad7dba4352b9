#ifndef CLIENTS_HTTP1_REQUEST_H
#define CLIENTS_HTTP1_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/http_client.h"
#include "clients/url_host.h"

/* The bytes of a request. Its head stands on the task's stack unless the URL is long. */
enum { HTTP1_REQUEST_SMALL_BYTES = 320 };

struct http1_request {
	const char *head; /* @small, or allocated */
	size_t head_bytes;
	const void *body; /* borrowed from the call */
	size_t body_bytes;
	bool is_head;       /* its method is HEAD */
	bool is_repeatable; /* see http_call_is_repeatable() */
	char small[HTTP1_REQUEST_SMALL_BYTES];
};

/**
 * Write the request for @call to @host, which is that of its URL. @request stays where it is.
 *
 * Returns 0; -ENOMEM; -EINVAL: the URL has a user or a password, it or the method has a byte that
 * would need encoding, or a header is not valid. Any thread.
 */
int http1_request_init(struct http1_request *request, const struct http_call *call,
                       const struct url_host *host);

/** Fine after a failed init. */
void http1_request_finish(struct http1_request *request);

#endif
