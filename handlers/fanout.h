#ifndef HANDLERS_FANOUT_H
#define HANDLERS_FANOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/http_client.h"
#include "handlers/handler.h"

/* GET /fanout: n calls to one upstream at once, each a child task, and one answer. */
struct fanout_options {
	struct http_client *client;   /* borrowed */
	const char *upstream;         /* copied; a URL that config.c has checked */
	unsigned max_n;               /* largest n of one request, at least 1 */
	int64_t call_timeout_ms;      /* default and upper bound of timeout_ms */
	int64_t deadline_ms;          /* default and upper bound of deadline_ms */
	size_t max_reply_bytes;       /* per call */
	size_t max_memory_bytes;      /* per request, replies and answer together */
	const char *const *executors; /* the names that `executor` may have, NULL at the end;
	                                 NULL: the parameter is refused. Borrowed */
	bool experiments;             /* admit cpu_us */
};

/** On success *@out is the caller's, to be given to handler_destroy(). Returns 0 or -ENOMEM. */
int fanout_handler_create(const struct fanout_options *options, struct handler **out);

#endif
