#include "clients/http1_left.h"

#include "executors/deadline.h"

enum { MOST_TRIED = 16 };

void http1_left_init(struct http1_left *left)
{
	*left = (struct http1_left){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void http1_left_finish(struct http1_left *left)
{
	while (http1_left_close_old(left, INT64_MAX, HTTP1_LEFT_MAX) > 0)
		;
	pthread_mutex_destroy(&left->lock);
}

void http1_left_put(struct http1_left *left, struct http1_connection *connection,
                    const struct http1_destination *to)
{
	bool is_kept;

	pthread_mutex_lock(&left->lock);
	is_kept = left->hosts.idle < HTTP1_LEFT_MAX &&
	          http1_hosts_add(&left->hosts, to, connection) == 0;
	if (is_kept)
		http1_hosts_set_idle(&left->hosts, connection, deadline_now_ns());
	pthread_mutex_unlock(&left->lock);
	if (!is_kept)
		http1_connection_destroy(connection);
}

static struct http1_connection *take_any(struct http1_left *left,
                                         const struct http1_destination *to)
{
	struct http1_connection *connection = NULL;
	struct http1_host *host;

	pthread_mutex_lock(&left->lock);
	host = left->hosts.idle > 0 ? http1_hosts_find(&left->hosts, to) : NULL;
	if (host)
		connection = http1_hosts_take(&left->hosts, host);
	if (connection)
		http1_hosts_remove(&left->hosts, connection);
	pthread_mutex_unlock(&left->lock);
	return connection;
}

struct http1_connection *http1_left_take(struct http1_left *left,
                                         const struct http1_destination *to)
{
	for (int tried = 0; tried < MOST_TRIED; tried++) {
		struct http1_connection *connection = take_any(left, to);

		if (!connection || http1_connection_is_quiet(connection))
			return connection;
		http1_connection_destroy(connection);
	}
	return NULL;
}

static struct http1_connection *take_old(struct http1_left *left, int64_t idle_since_ns)
{
	struct http1_connection *connection;

	pthread_mutex_lock(&left->lock);
	connection = http1_hosts_take_old(&left->hosts, idle_since_ns);
	if (connection)
		http1_hosts_remove(&left->hosts, connection);
	pthread_mutex_unlock(&left->lock);
	return connection;
}

unsigned http1_left_close_old(struct http1_left *left, int64_t idle_since_ns, unsigned most)
{
	struct http1_connection *connection;
	unsigned count = 0;

	while (count < most && (connection = take_old(left, idle_since_ns))) {
		http1_connection_destroy(connection);
		count++;
	}
	return count;
}
