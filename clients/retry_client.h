#ifndef CLIENTS_RETRY_CLIENT_H
#define CLIENTS_RETRY_CLIENT_H

#include "clients/http_client.h"
#include "clients/retry.h"

/*
 * A client that passes calls on to another one, again and again if that is worth it
 * (retry.h) and the budget allows it (retry_budget.h). A call's timeout and deadline
 * hold for all its attempts and the pauses between together, from the start of the first; an
 * attempt that could not end in time is not made, and the last outcome stands.
 */

struct retry_stats {
	uint64_t retries; /* attempts beyond the first ones */
	uint64_t refused; /* that were not made because the budget was used up */
};

/**
 * @settings say at least two attempts. @seed is where the random pauses begin. On success @inner is
 * owned by *@out, which is the caller's for http_client_destroy(). Returns 0 or -ENOMEM.
 */
int retry_client_create(struct http_client *inner, const struct retry_settings *settings,
                        uint64_t seed, struct http_client **out);

/** Of a client made above. Any thread. */
void retry_client_stats(struct http_client *client, struct retry_stats *out);

#endif
