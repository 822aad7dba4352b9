#include "clients/http1_idle.h"

#include <stdlib.h>
#include <unistd.h>

void http1_peers_init(struct http1_peers *peers)
{
	*peers = (struct http1_peers){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void http1_peers_finish(struct http1_peers *peers)
{
	pthread_mutex_destroy(&peers->lock);
}

void http1_idle_init(struct http1_idle *idle, struct http1_peers *peers, bool can_take_away)
{
	*idle = (struct http1_idle){.lock = PTHREAD_MUTEX_INITIALIZER};
	if (!can_take_away)
		return;
	idle->peers = peers;
	pthread_mutex_lock(&peers->lock);
	idle->next = peers->first;
	peers->first = idle;
	pthread_mutex_unlock(&peers->lock);
}

void http1_idle_withdraw(struct http1_idle *idle)
{
	struct http1_idle **at;

	if (!idle->peers)
		return;
	pthread_mutex_lock(&idle->peers->lock);
	for (at = &idle->peers->first; *at != idle; at = &(*at)->next)
		;
	*at = idle->next;
	pthread_mutex_unlock(&idle->peers->lock);
	idle->peers = NULL;
}

static void forget_taken(struct http1_idle *idle)
{
	while (idle->taken) {
		struct http1_connection *connection = idle->taken;

		idle->taken = connection->older;
		io_forget(&connection->io);
		free(connection);
	}
}

void http1_idle_finish(struct http1_idle *idle)
{
	forget_taken(idle);
	pthread_mutex_destroy(&idle->lock);
}

void http1_idle_lock(struct http1_idle *idle)
{
	pthread_mutex_lock(&idle->lock);
	if (idle->taken)
		forget_taken(idle);
}

void http1_idle_unlock(struct http1_idle *idle)
{
	atomic_store_explicit(&idle->count, idle->hosts.idle, memory_order_relaxed);
	pthread_mutex_unlock(&idle->lock);
}

/* @mine becomes what @connection was, which stays behind. */
static void move(struct http1_idle *from, struct http1_connection *connection,
                 struct http1_connection *mine)
{
	mine->io.fd = io_take_away(&connection->io);
	mine->state = HTTP1_DETACHED;
	mine->gate = connection->gate;
	http1_hosts_remove(&from->hosts, connection);
	connection->older = from->taken;
	from->taken = connection;
}

static bool take_from(struct http1_idle *other, const struct http1_destination *to,
                      struct http1_connection *mine)
{
	struct http1_host *host;
	struct http1_connection *connection;

	if (pthread_mutex_trylock(&other->lock) != 0)
		return false;
	host = http1_hosts_find(&other->hosts, to);
	connection = host ? http1_hosts_take_oldest(&other->hosts, host) : NULL;
	if (connection)
		move(other, connection, mine);
	http1_idle_unlock(other);
	return connection;
}

/* The list's lock keeps the others there. */
static bool take_from_others(struct http1_idle *idle, const struct http1_destination *to,
                             struct http1_connection *mine)
{
	struct http1_peers *peers = idle->peers;
	bool is_taken = false;

	pthread_mutex_lock(&peers->lock);
	for (struct http1_idle *other = peers->first; other && !is_taken; other = other->next)
		if (other != idle && atomic_load_explicit(&other->count, memory_order_relaxed) > 0)
			is_taken = take_from(other, to, mine);
	pthread_mutex_unlock(&peers->lock);
	return is_taken;
}

struct http1_connection *http1_idle_take_away(struct http1_idle *idle,
                                              const struct http1_destination *to)
{
	struct http1_connection *mine;

	if (!idle->peers)
		return NULL;
	mine = calloc(1, sizeof(*mine));
	/* What has ended, or been answered without a question, is not passed on. */
	while (mine && take_from_others(idle, to, mine)) {
		if (http1_connection_is_quiet(mine))
			return mine;
		http1_connection_destroy(mine);
		mine = calloc(1, sizeof(*mine));
	}
	free(mine);
	return NULL;
}
