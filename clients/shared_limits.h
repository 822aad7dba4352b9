#ifndef CLIENTS_SHARED_LIMITS_H
#define CLIENTS_SHARED_LIMITS_H

#include "clients/upstream.h"

/*
 * Limits (upstream.h) that several chains of clients go through: when the other
 * settings of an upstream change, calls that began before count for those that
 * begin after, as it is the same upstream that has to take them.
 */
struct shared_limits;

/** On success @inner is owned by *@out, which has one reference. Returns 0 or -ENOMEM. */
int shared_limits_create(struct http_client *inner, const struct upstream_limits *limits,
                         struct shared_limits **out);

/** One more reference. Any thread. */
struct shared_limits *shared_limits_acquire(struct shared_limits *limits);

/** No call is in progress for this reference. Any thread. NULL is ignored. */
void shared_limits_release(struct shared_limits *limits);

/** What calls go through: made by upstream_client_create(), borrowed for the reference. */
struct http_client *shared_limits_client(struct shared_limits *limits);

#endif
