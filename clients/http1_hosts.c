#include "clients/http1_hosts.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static uint32_t hash_of(const struct http1_destination *to)
{
	return url_host_hash(to->host.name, to->host.name_len, to->host.port);
}

static bool is_to(const struct http1_host *host, const struct http1_destination *to, uint32_t hash)
{
	return host->hash == hash && host->port == to->host.port &&
	       host->name_len == to->host.name_len && host->addresses == to->addresses &&
	       strncasecmp(host->name, to->host.name, to->host.name_len) == 0;
}

static struct http1_host *find(const struct http1_hosts *hosts, const struct http1_destination *to,
                               uint32_t hash)
{
	struct http1_host *host = hosts->buckets[hash % HTTP1_HOST_BUCKETS];

	while (host && !is_to(host, to, hash))
		host = host->next;
	return host;
}

struct http1_host *http1_hosts_find(const struct http1_hosts *hosts,
                                    const struct http1_destination *to)
{
	return find(hosts, to, hash_of(to));
}

int http1_hosts_add(struct http1_hosts *hosts, const struct http1_destination *to,
                    struct http1_connection *connection)
{
	uint32_t hash = hash_of(to);
	struct http1_host *host = find(hosts, to, hash);

	if (!host) {
		host = calloc(1, sizeof(*host) + to->host.name_len);
		if (!host)
			return -ENOMEM;
		host->addresses = to->addresses;
		host->hash = hash;
		host->port = to->host.port;
		host->name_len = to->host.name_len;
		memcpy(host->name, to->host.name, to->host.name_len);
		host->next = hosts->buckets[hash % HTTP1_HOST_BUCKETS];
		hosts->buckets[hash % HTTP1_HOST_BUCKETS] = host;
	}
	host->connections++;
	connection->host = host;
	return 0;
}

void http1_hosts_remove(struct http1_hosts *hosts, struct http1_connection *connection)
{
	struct http1_host *host = connection->host;
	struct http1_host **at = &hosts->buckets[host->hash % HTTP1_HOST_BUCKETS];

	connection->host = NULL;
	if (--host->connections > 0)
		return;
	while (*at != host)
		at = &(*at)->next;
	*at = host->next;
	free(host);
}

void http1_hosts_set_idle(struct http1_hosts *hosts, struct http1_connection *connection,
                          int64_t now_ns)
{
	struct http1_host *host = connection->host;

	connection->idle_since_ns = now_ns;
	connection->newer = NULL;
	connection->older = host->newest;
	if (host->newest)
		host->newest->newer = connection;
	else
		host->oldest = connection;
	host->newest = connection;
	hosts->idle++;
}

struct http1_connection *http1_hosts_take(struct http1_hosts *hosts, struct http1_host *host)
{
	struct http1_connection *connection = host->newest;

	if (!connection)
		return NULL;
	host->newest = connection->older;
	if (host->newest)
		host->newest->newer = NULL;
	else
		host->oldest = NULL;
	hosts->idle--;
	return connection;
}

struct http1_connection *http1_hosts_take_oldest(struct http1_hosts *hosts, struct http1_host *host)
{
	struct http1_connection *connection = host->oldest;

	if (!connection)
		return NULL;
	host->oldest = connection->newer;
	if (host->oldest)
		host->oldest->older = NULL;
	else
		host->newest = NULL;
	hosts->idle--;
	return connection;
}

struct http1_connection *http1_hosts_take_old(struct http1_hosts *hosts, int64_t idle_since_ns)
{
	if (hosts->idle == 0)
		return NULL;
	for (size_t i = 0; i < HTTP1_HOST_BUCKETS; i++)
		for (struct http1_host *host = hosts->buckets[i]; host; host = host->next)
			if (host->oldest && host->oldest->idle_since_ns <= idle_since_ns)
				return http1_hosts_take_oldest(hosts, host);
	return NULL;
}

int64_t http1_hosts_oldest_ns(const struct http1_hosts *hosts)
{
	int64_t oldest_ns = INT64_MAX;

	for (size_t i = 0; hosts->idle > 0 && i < HTTP1_HOST_BUCKETS; i++)
		for (const struct http1_host *host = hosts->buckets[i]; host; host = host->next)
			if (host->oldest && host->oldest->idle_since_ns < oldest_ns)
				oldest_ns = host->oldest->idle_since_ns;
	return oldest_ns;
}
