#ifndef SERVER_METERED_CLIENT_H
#define SERVER_METERED_CLIENT_H

#include "clients/http_client.h"

struct metrics_text;

/**
 * A client that passes every call on to @inner and counts how it ended; why TLS failed is logged,
 * every ten seconds at most. @upstream is the value of the label, copied: the authority that calls
 * go to.
 *
 * On success @inner is owned by *@out, which is the caller's. Returns 0 or -ENOMEM, with @inner
 * still the caller's.
 */
int metered_client_create(struct http_client *inner, const char *upstream,
                          struct http_client **out);

/** The value of the label of a client made above; borrowed from it. */
const char *metered_client_upstream(const struct http_client *client);

/** Print its samples of fanoutd_calls_total, without the head of the family. Any thread. */
void metered_client_print(struct http_client *client, struct metrics_text *text);

#endif
