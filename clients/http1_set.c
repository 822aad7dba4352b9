#include "clients/http1_set.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/*
 * How long a connection is idle before it is closed: this, up to the next whole
 * second, at which all carriers wake together. Servers close theirs after 5 s (Node,
 * Apache, uvicorn), 10 s (h2o), 75 s (nginx): a connection that the server is about
 * to close costs a second attempt, so we are first.
 */
#define IDLE_NS (3 * SECOND_NS)

enum {
	MOST_TRIED = 16,     /* idle connections that prove dead, for one call */
	MOST_AT_A_TIME = 32, /* closed without going through the carrier's loop: 10 us each */
};

struct http1_set {
	struct carrier_service service;
	struct carrier *carrier;
	struct http1_left *left;
	struct http1_hosts hosts;

	/* Set while there are idle connections, to when the oldest of them will have been idle for
	 * too long: one for all, which a call does not set. */
	struct carrier_timer timer;
	bool is_timer_set;

	/* Exchanged, acquire and release, with itself on other threads: tasks read in parallel when
	 * one has lost its carrier. */
	_Atomic(struct http1_buffer *) spare;
};

static void discard(struct http1_set *set, struct http1_connection *connection)
{
	http1_hosts_remove(&set->hosts, connection);
	http1_connection_destroy(connection);
}

static unsigned close_old(struct http1_set *set, int64_t idle_since_ns, unsigned most)
{
	struct http1_connection *connection;
	unsigned count = 0;

	while (count < most && (connection = http1_hosts_take_old(&set->hosts, idle_since_ns))) {
		discard(set, connection);
		count++;
	}
	return count + http1_left_close_old(set->left, idle_since_ns, most - count);
}

/* Without memory for it the next connection that becomes idle tries again. */
static void set_timer(struct http1_set *set, int64_t oldest_ns)
{
	int64_t second = (oldest_ns + IDLE_NS) / SECOND_NS + 1;
	struct deadline moment = {second * SECOND_NS};

	set->is_timer_set = carrier_set_timer(set->carrier, &set->timer, moment) == 0;
}

static void fire(struct carrier_timer *timer)
{
	struct http1_set *set =
		(struct http1_set *)((char *)timer - offsetof(struct http1_set, timer));

	set->is_timer_set = false;
	(void)close_old(set, deadline_now_ns() - IDLE_NS, MOST_AT_A_TIME);
	if (set->hosts.idle > 0)
		set_timer(set, http1_hosts_oldest_ns(&set->hosts));
}

static void set_idle(struct http1_set *set, struct http1_connection *connection)
{
	int64_t now_ns = carrier_now_ns(set->carrier);

	http1_hosts_set_idle(&set->hosts, connection, now_ns);
	if (!set->is_timer_set)
		set_timer(set, now_ns);
}

/* The name is copied, since that of this table goes with the host's last connection. */
static void leave(struct http1_set *set, struct http1_connection *connection)
{
	const struct http1_host *host = connection->host;
	char name[URL_HOST_NAME_MAX];
	struct url_host to = {.name = name, .name_len = host->name_len, .port = host->port};

	memcpy(name, host->name, host->name_len);
	http1_hosts_remove(&set->hosts, connection);
	http1_connection_detach(connection);
	http1_left_put(set->left, connection, &to);
}

static void stop(struct carrier_service *service)
{
	struct http1_set *set =
		(struct http1_set *)((char *)service - offsetof(struct http1_set, service));
	struct http1_connection *connection;

	while ((connection = http1_hosts_take_old(&set->hosts, INT64_MAX)))
		leave(set, connection);
	(void)carrier_set_timer(set->carrier, &set->timer, DEADLINE_NEVER);
	free(atomic_load_explicit(&set->spare, memory_order_acquire));
	free(set);
}

static struct http1_set *find_or_add(struct carrier *carrier, struct http1_left *left)
{
	struct carrier_service *service = carrier_service_find(carrier, left);
	struct http1_set *set;

	if (service)
		return (struct http1_set *)((char *)service - offsetof(struct http1_set, service));
	set = calloc(1, sizeof(*set));
	if (!set)
		return NULL;
	set->service.key = left;
	set->service.stop = stop;
	set->carrier = carrier;
	set->left = left;
	set->timer.fire = fire;
	carrier_service_add(carrier, &set->service);
	return set;
}

static struct http1_connection *take_idle(struct http1_set *set, const struct url_host *to)
{
	for (int tried = 0; tried < MOST_TRIED; tried++) {
		struct http1_host *host = http1_hosts_find(&set->hosts, to);
		struct http1_connection *connection =
			host ? http1_hosts_take(&set->hosts, host) : NULL;

		if (!connection || http1_connection_is_alive(connection))
			return connection;
		discard(set, connection);
	}
	return NULL;
}

/* One that was left elsewhere, or an unopened one. NULL: no memory. */
static struct http1_connection *add_connection(struct http1_set *set, struct http1_lease *lease)
{
	struct http1_connection *connection =
		lease->is_fresh ? NULL : http1_left_take(set->left, lease->to);

	lease->is_reused = connection;
	if (!connection)
		connection = calloc(1, sizeof(*connection));
	if (connection && http1_hosts_add(&set->hosts, lease->to, connection) < 0) {
		http1_connection_destroy(connection);
		return NULL;
	}
	return connection;
}

void http1_set_take(struct carrier *carrier, void *arg)
{
	struct http1_lease *lease = arg;
	struct http1_set *set = find_or_add(carrier, lease->left);

	lease->set = set;
	lease->connection = NULL;
	if (!set)
		return;
	if (!lease->is_fresh)
		lease->connection = take_idle(set, lease->to);
	lease->is_reused = lease->connection;
	if (!lease->connection)
		lease->connection = add_connection(set, lease);
}

/* Of fresh ones a host keeps the first alone: if it is called in a way that needs them, they would
 * become ever more. */
void http1_set_give(struct carrier *carrier, void *arg)
{
	struct http1_lease *lease = arg;
	struct http1_connection *connection = lease->connection;

	(void)carrier;
	if (lease->is_kept && (!lease->is_fresh || !connection->host->newest))
		set_idle(lease->set, connection);
	else
		discard(lease->set, connection);
	lease->connection = NULL;
}

void http1_set_find_room(struct carrier *carrier, void *arg)
{
	struct http1_lease *lease = arg;

	(void)carrier;
	lease->found_room = close_old(lease->set, INT64_MAX, MOST_AT_A_TIME) > 0;
}

struct http1_buffer *http1_set_take_buffer(struct http1_set *set)
{
	struct http1_buffer *buffer =
		atomic_exchange_explicit(&set->spare, NULL, memory_order_acq_rel);

	return buffer ? buffer : malloc(sizeof(*buffer));
}

void http1_set_give_buffer(struct http1_set *set, struct http1_buffer *buffer)
{
	if (buffer)
		free(atomic_exchange_explicit(&set->spare, buffer, memory_order_acq_rel));
}
