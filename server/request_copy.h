#ifndef SERVER_REQUEST_COPY_H
#define SERVER_REQUEST_COPY_H

#include <h2o.h>
#include <stdbool.h>
#include <stddef.h>

#include "handlers/handler.h"

/*
 * A request as handlers see it, in memory that is not h2o's: what h2o has of one
 * is gone with the client.
 */

/** How much memory request_copy() needs for @request. */
size_t request_copy_bytes(const h2o_req_t *request, bool with_body);

/**
 * Copy @request to @memory, of request_copy_bytes(), which the result points to. Without a body it
 * is "". The deadline is left zeroed.
 */
struct request request_copy(const h2o_req_t *request, bool with_body, char *memory);

#endif
