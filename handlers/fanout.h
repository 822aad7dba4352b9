#ifndef HANDLERS_FANOUT_H
#define HANDLERS_FANOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/http_client.h"
#include "handlers/batch_request.h"
#include "handlers/handler.h"
#include "handlers/live_limits.h"

/* GET /fanout: n calls to one upstream at once, each a child task, and one answer. */
struct fanout_options {
	struct batch_limits limits;
	const struct live_limits *live; /* borrowed: what limits and the two below are when a
	                                   request begins. NULL: what they are here */
	struct http_client *client;     /* borrowed */
	const char *upstream;           /* copied; a URL that config.c has checked */
	int64_t call_timeout_ms;        /* default and upper bound of timeout_ms */
	size_t max_reply_bytes;         /* per call */
	bool experiments;               /* admit cpu_us */
};

/** On success *@out is the caller's, to be given to handler_destroy(). Returns 0 or -ENOMEM. */
int fanout_handler_create(const struct fanout_options *options, struct handler **out);

#endif
