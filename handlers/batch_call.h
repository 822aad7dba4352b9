#ifndef HANDLERS_BATCH_CALL_H
#define HANDLERS_BATCH_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "handlers/batch.h"

/** The HTTP call that each child of a batch makes. Borrowed, constant while children run. */
struct batch_call {
	struct http_client *client;
	const char *url;
	int64_t timeout_ms; /* of one call, from its start */
	size_t max_reply_bytes;
};

/** Make the call and record its outcome in @child. On the child's task; parks. */
void batch_call_make(const struct batch_call *call, struct batch_child *child);

/**
 * What stands before the milliseconds in "UPSTREAM?ms=100", with `&` if the upstream has a query.
 *
 * To be freed with free(). NULL: no memory. Any thread.
 */
char *batch_call_url_prefix(const char *upstream);

#endif
