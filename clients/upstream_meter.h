#ifndef CLIENTS_UPSTREAM_METER_H
#define CLIENTS_UPSTREAM_METER_H

#include "clients/http_client.h"
#include "clients/upstream_stats.h"

/**
 * A client that passes every call on to @inner, and counts what became of it.
 *
 * On success @inner is owned by *@out, which is the caller's for http_client_destroy(). Returns 0
 * or -ENOMEM.
 */
int upstream_meter_create(struct http_client *inner, struct http_client **out);

/** Fill in what a client made above knows: results, in_flight, durations, percentiles, attempts.
 * The rest of @out is left alone. Any thread. */
void upstream_meter_stats(struct http_client *client, struct upstream_stats *out);

#endif
