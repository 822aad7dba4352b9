#ifndef SERVER_REPLY_H
#define SERVER_REPLY_H

#include <h2o.h>

#include "handlers/handler.h"
#include "handlers/request_context.h"
#include "server/slow_readers.h"

/* Answers that are there as a whole; a streamed one is in stream.h. Loop thread only. */

/**
 * Answer @request with @response, which is consumed: it is freed when h2o has written it or has
 * dropped the request. One with status 0 becomes a 500. HEAD gets the head alone.
 */
void reply_send(struct slow_readers *readers, h2o_req_t *request, struct response *response);

/* For what answers: all texts are copied to the request's pool. */

/** Add the headers that say which request this is. */
void reply_name_request(h2o_req_t *request, const struct request_context *context);

/** Make the head that of @response. The body has @body_len bytes; SIZE_MAX: its end will show. */
void reply_set_head(h2o_req_t *request, const struct response *response, size_t body_len);

#endif
