#include "server/upstream_clients.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Descriptors left for clients of ours, listeners and what else a process has: an eighth of all,
 * but not more or less than these. */
enum { RESERVE_SHARE = 8, RESERVE_LEAST = 64, RESERVE_MOST = 2048 };

unsigned upstream_connections(const struct config *config)
{
	struct rlimit limit;
	rlim_t count, reserve;

	if (config->upstream_connections != 0)
		return config->upstream_connections;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX)
		return INT_MAX;
	count = limit.rlim_cur;
	reserve = count / RESERVE_SHARE;
	if (reserve < RESERVE_LEAST)
		reserve = RESERVE_LEAST;
	if (reserve > RESERVE_MOST)
		reserve = RESERVE_MOST;
	count = count > reserve ? count - reserve : 1;
	/* The slow endpoint has the other end of each in this process. */
	if (config->slow_listen.host[0] != '\0')
		count = (count + 1) / 2;
	/* A pthread that waits for a socket has another descriptor, to be woken by. */
	if (config->compare || strcmp(config->executor, "coroutine") != 0)
		count = (count + 1) / 2;
	return (unsigned)count;
}

int upstream_clients_start(struct upstream_clients *clients, const struct config *config,
                           const char *upstream, struct offload *offload,
                           char error_text[CLIENT_SETUP_ERROR_BYTES])
{
	int error =
		resolver_create(&(struct resolver_options){.offload = offload}, &clients->resolver);

	if (error != 0) {
		(void)snprintf(error_text, CLIENT_SETUP_ERROR_BYTES, "cannot start the client: %s",
		               strerrordesc_np(-error));
		return error;
	}
	connection_gate_init(&clients->gate, upstream_connections(config));
	clients->has_gate = true;
	if (upstream == NULL)
		return 0;
	return client_setup(config, upstream, clients->resolver, &clients->gate, &clients->client,
	                    &clients->limits, error_text);
}

void upstream_clients_stop(struct upstream_clients *clients)
{
	http_client_destroy(clients->client);
	if (clients->has_gate)
		connection_gate_finish(&clients->gate);
	resolver_destroy(clients->resolver);
	*clients = (struct upstream_clients){0};
}
