#ifndef CLIENTS_HTTP_FAIL_H
#define CLIENTS_HTTP_FAIL_H

#include <stdbool.h>

#include "clients/http_client.h"
#include "clients/resolver.h"
#include "clients/url_host.h"

/* How a client gives a call up: for those that implement struct http_client_ops. */

/** Leave @reason, static text or NULL, in @call; returns @failure, for the client to return. */
static inline enum http_failure http_fail(struct http_call *call, enum http_failure failure,
                                          const char *reason)
{
	call->reason = reason;
	return failure;
}

/** The reason of a call whose address policy refuses what its host resolves to. */
#define HTTP_ADDRESS_NOT_ALLOWED "address is not allowed"

/** A wait of the calling task has ended with @error: -ETIMEDOUT or -ECANCELED. Task only. */
enum http_failure http_fail_wait(struct http_call *call, int error);

/** @error, an errno, says that this process or system is out of descriptors or memory. */
bool http_is_shortage(int error);

/**
 * Look the name of @host up. HTTP_OK with @answer filled in, or how @call has failed.
 *
 * Task only; parks.
 */
enum http_failure http_look_up(struct http_call *call, struct resolver *resolver,
                               const struct url_host *host, struct deadline deadline,
                               struct resolver_answer *answer);

#endif
