#ifndef CLIENTS_HEDGE_CLIENT_H
#define CLIENTS_HEDGE_CLIENT_H

#include "clients/hedge.h"
#include "clients/http_client.h"

/*
 * A client that passes calls on to another one, and a second time beside the first
 * when that takes long (hedge.h). The first answer counts; the other call is
 * cancelled, and has ended when http_call() returns. An answer is a whole reply that
 * retry.h would not have tried again: while both are under way the failure of one leaves it to the
 * other.
 *
 * Only calls that may be sent twice are hedged. Each attempt is a task of its own then. Where there
 * is none for it, or all threads of a pool are taken, the calling task makes it, without a second
 * one beside it.
 */

struct hedge_stats {
	uint64_t hedges;  /* second attempts */
	uint64_t won;     /* that were faster than the first */
	uint64_t refused; /* that were put off, or not made at all, because the budget was short */
	int64_t delay_ns; /* after which there is one; INT64_MAX: not known yet */
};

/** On success @inner is owned by *@out, which is the caller's for http_client_destroy(). Returns 0
 * or -ENOMEM. */
int hedge_client_create(struct http_client *inner, const struct hedge_settings *settings,
                        struct http_client **out);

/** Of a client made above. Any thread. */
void hedge_client_stats(struct http_client *client, struct hedge_stats *out);

#endif
