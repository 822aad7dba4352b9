#ifndef SERVER_REPLY_H
#define SERVER_REPLY_H

#include <h2o.h>
#include <stdint.h>

#include "handlers/handler.h"

/*
 * Answers on their way out. h2o gives a client all the time in the world to read
 * one; here a connection is cut when its client has taken nothing for 30 s.
 *
 * Loop thread only.
 */
struct reply_set {
	h2o_linklist_t replies; /* handed to h2o and not yet written out */
	int64_t sweep_due_ns;   /* CLOCK_MONOTONIC; INT64_MAX while there are none */
};

void reply_set_init(struct reply_set *set);

/**
 * Answer @request with @response, which is consumed: it is freed when h2o has written it or has
 * dropped the request. One with status 0 becomes a 500. HEAD gets the head alone.
 */
void reply_send(struct reply_set *set, h2o_req_t *request, struct response *response);

/** When reply_set_sweep() is to be called next, on CLOCK_MONOTONIC; INT64_MAX: not at all. */
int64_t reply_set_due_ns(const struct reply_set *set);

/** Cut the connections that have made no progress. h2o drops them on its next turn. */
void reply_set_sweep(struct reply_set *set, int64_t now_ns);

#endif
