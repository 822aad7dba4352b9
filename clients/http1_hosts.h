#ifndef CLIENTS_HTTP1_HOSTS_H
#define CLIENTS_HTTP1_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/address_policy.h"
#include "clients/http1_connection.h"
#include "clients/url_host.h"

/** Where a call goes to. Those that agree in it may share connections. */
struct http1_destination {
	struct url_host host;
	const struct address_policy *addresses; /* the call's */
};

/*
 * Connections by where they go to. Each host has a list of its idle
 * ones: the last to become idle is the first to be used again, and the one that has
 * been idle for longest the first to be closed.
 *
 * Not for several threads at once: whoever embeds a table says what guards it.
 */
struct http1_host {
	struct http1_host *next; /* in its bucket */
	struct http1_connection *newest, *oldest;
	unsigned connections; /* that are this host's, in use or idle; it goes with the last */
	const struct address_policy *addresses; /* of the destination */
	uint32_t hash;
	uint16_t port;
	size_t name_len;
	char name[]; /* as in the URL, not terminated */
};

enum { HTTP1_HOST_BUCKETS = 64 };

struct http1_hosts {
	struct http1_host *buckets[HTTP1_HOST_BUCKETS];
	unsigned idle; /* connections */
};

/** The host, or NULL if it has no connection here. */
struct http1_host *http1_hosts_find(const struct http1_hosts *hosts,
                                    const struct http1_destination *to);

/** Make @connection one of the host's, which may be new here. Returns 0 or -ENOMEM. */
int http1_hosts_add(struct http1_hosts *hosts, const struct http1_destination *to,
                    struct http1_connection *connection);

/** @connection, which is not idle, leaves: it is its host's no longer. */
void http1_hosts_remove(struct http1_hosts *hosts, struct http1_connection *connection);

/** @connection becomes idle at @now_ns. */
void http1_hosts_set_idle(struct http1_hosts *hosts, struct http1_connection *connection,
                          int64_t now_ns);

/** The idle connection of @host that became idle last is not idle any more. NULL: there is none. */
struct http1_connection *http1_hosts_take(struct http1_hosts *hosts, struct http1_host *host);

/** The same with the one that has been idle for longest. NULL: there is none. */
struct http1_connection *http1_hosts_take_oldest(struct http1_hosts *hosts,
                                                 struct http1_host *host);

/** When the oldest idle one became idle; INT64_MAX: there is none. Looks at every host. */
int64_t http1_hosts_oldest_ns(const struct http1_hosts *hosts);

/** Take one that became idle at @idle_since_ns or before; NULL: there is none. */
struct http1_connection *http1_hosts_take_old(struct http1_hosts *hosts, int64_t idle_since_ns);

#endif
