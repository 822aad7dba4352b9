#ifndef HANDLERS_PINNED_H
#define HANDLERS_PINNED_H

#include <stddef.h>
#include <stdint.h>

#include "clients/http_client.h"
#include "handlers/batch_request.h"
#include "handlers/handler.h"

/*
 * GET /pinned?n=128&delay_ms=200[&lock=1]: n calls to the upstream, each from a child task that
 * cannot let go of its thread meanwhile, since its client blocks. With lock=1 the ordinary client
 * makes them, and each child holds a mutex across its call: one of 4096, by its place among the
 * children.
 */
struct pinned_options {
	struct batch_limits limits;
	struct http_client *client;          /* borrowed; parks */
	struct http_client *blocking_client; /* borrowed; blocks the thread */
	const char *upstream;                /* copied; a URL that config.c has checked */
	int64_t call_timeout_ms;
	size_t max_reply_bytes; /* per call */
};

/** On success *@out is the caller's, to be given to handler_destroy(). Returns 0 or -ENOMEM. */
int pinned_handler_create(const struct pinned_options *options, struct handler **out);

#endif
