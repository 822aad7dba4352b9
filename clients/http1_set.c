#include "clients/http1_set.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/* How long idle connections may stand while calls on other carriers wait for room. */
#define LOOK_NS INT64_C(50000000)

enum {
	MOST_TRIED = 16,     /* idle connections that prove dead, for one call */
	MOST_AT_A_TIME = 32, /* closed without going through the carrier's loop: 10 us each */
};

struct http1_set {
	struct carrier_service service;
	struct carrier *carrier;
	struct http1_left *left;
	struct http1_idle idle;       /* its lock is held in what follows, but for stop() */
	struct connection_gate *gate; /* NULL: any number of connections */
	struct connection_gate_place place;

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
	http1_hosts_remove(&set->idle.hosts, connection);
	http1_connection_destroy(connection);
}

/* A detached connection, and where it goes to: the name of the table goes with the host's last
 * connection. */
struct detached {
	struct connection_offer offer; /* first */
	struct http1_destination to;
	char name[URL_HOST_NAME_MAX];
};

static struct http1_destination destination_of(const struct http1_connection *connection)
{
	const struct http1_host *host = connection->host;

	return (struct http1_destination){
		.host = {.name = host->name, .name_len = host->name_len, .port = host->port},
		.addresses = host->addresses,
	};
}

/* @wanted NULL: a connection that nobody has used. */
static bool are_one(const struct http1_destination *wanted, const struct http1_destination *to)
{
	return wanted && wanted->host.port == to->host.port &&
	       wanted->host.name_len == to->host.name_len && wanted->addresses == to->addresses &&
	       memcmp(wanted->host.name, to->host.name, to->host.name_len) == 0;
}

/* @wanted is a struct http1_destination. */
static bool fits(const struct connection_offer *offer, const void *wanted)
{
	struct http1_destination to = destination_of(offer->connection);

	return are_one(wanted, &to);
}

static bool detached_fits(const struct connection_offer *offer, const void *wanted)
{
	return are_one(wanted, &((const struct detached *)offer)->to);
}

static void detach(struct http1_set *set, struct http1_connection *connection,
                   struct detached *detached)
{
	detached->offer = (struct connection_offer){connection, detached_fits};
	detached->to = destination_of(connection);
	memcpy(detached->name, detached->to.host.name, detached->to.host.name_len);
	detached->to.host.name = detached->name;
	http1_hosts_remove(&set->idle.hosts, connection);
	http1_connection_detach(connection);
}

/* To a call that waits on another carrier, or its room if it has no use for the connection. */
static void give_elsewhere(struct http1_set *set, struct http1_connection *connection)
{
	struct detached detached;

	detach(set, connection, &detached);
	if (!connection_gate_give(connection->gate, &set->place, &detached.offer))
		http1_connection_destroy(connection);
}

static unsigned close_old(struct http1_set *set, int64_t idle_since_ns, unsigned most)
{
	struct http1_connection *connection;
	unsigned count = 0;

	while (count < most &&
	       (connection = http1_hosts_take_old(&set->idle.hosts, idle_since_ns))) {
		discard(set, connection);
		count++;
	}
	return count + http1_left_close_old(set->left, idle_since_ns, most - count);
}

/* While room is short, calls elsewhere may come to wait for the idle connections here. */
static bool may_be_short(const struct http1_set *set)
{
	return set->gate && connection_gate_may_be_short(set->gate);
}

/* Without memory for it the next connection that becomes idle tries again. */
static void set_timer(struct http1_set *set, int64_t oldest_ns)
{
	int64_t second = (oldest_ns + HTTP1_IDLE_NS) / SECOND_NS + 1;
	struct deadline moment = {second * SECOND_NS};

	if (may_be_short(set))
		moment = deadline_earlier(moment, deadline_in_ns(LOOK_NS));
	set->is_timer_set = carrier_set_timer(set->carrier, &set->timer, moment) == 0;
}

static void share_idle(struct http1_set *set)
{
	struct http1_connection *connection;

	for (int i = 0; i < MOST_AT_A_TIME && set->gate && connection_gate_is_short(set->gate);
	     i++) {
		connection = http1_hosts_take_old(&set->idle.hosts, INT64_MAX);
		if (!connection)
			return;
		give_elsewhere(set, connection);
	}
}

static void fire(struct carrier_timer *timer)
{
	struct http1_set *set =
		(struct http1_set *)((char *)timer - offsetof(struct http1_set, timer));

	http1_idle_lock(&set->idle);
	set->is_timer_set = false;
	(void)close_old(set, deadline_now_ns() - HTTP1_IDLE_NS, MOST_AT_A_TIME);
	share_idle(set);
	if (set->idle.hosts.idle > 0)
		set_timer(set, http1_hosts_oldest_ns(&set->idle.hosts));
	http1_idle_unlock(&set->idle);
}

static void set_idle(struct http1_set *set, struct http1_connection *connection)
{
	int64_t now_ns = carrier_now_ns(set->carrier);

	http1_hosts_set_idle(&set->idle.hosts, connection, now_ns);
	if (!set->is_timer_set)
		set_timer(set, now_ns);
}

/* For another carrier, some time. Where room may be short it is given up instead: whoever waits for
 * it hears of that, but not of what is left. */
static void leave(struct http1_set *set, struct http1_connection *connection)
{
	struct detached detached;

	if (may_be_short(set)) {
		discard(set, connection);
		return;
	}
	detach(set, connection, &detached);
	http1_left_put(set->left, connection, &detached.to);
}

static void stop(struct carrier_service *service)
{
	struct http1_set *set =
		(struct http1_set *)((char *)service - offsetof(struct http1_set, service));
	struct http1_connection *connection;

	http1_idle_withdraw(&set->idle);
	while ((connection = http1_hosts_take_old(&set->idle.hosts, INT64_MAX)))
		leave(set, connection);
	http1_idle_finish(&set->idle);
	(void)carrier_set_timer(set->carrier, &set->timer, DEADLINE_NEVER);
	free(atomic_load_explicit(&set->spare, memory_order_acquire));
	free(set);
}

static struct http1_set *find_or_add(struct carrier *carrier, const struct http1_lease *lease)
{
	struct http1_left *left = lease->left;
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
	set->gate = lease->gate;
	set->timer.fire = fire;
	connection_gate_place_init(&set->place);
	http1_idle_init(&set->idle, lease->peers, carrier_can_take_away(carrier));
	carrier_service_add(carrier, &set->service);
	return set;
}

static struct http1_connection *take_idle(struct http1_set *set, const struct http1_destination *to)
{
	for (int tried = 0; tried < MOST_TRIED; tried++) {
		struct http1_host *host = http1_hosts_find(&set->idle.hosts, to);
		struct http1_connection *connection =
			host ? http1_hosts_take(&set->idle.hosts, host) : NULL;

		if (!connection || http1_connection_is_alive(connection))
			return connection;
		discard(set, connection);
	}
	return NULL;
}

static bool take_room(struct http1_set *set)
{
	if (!set->gate || connection_gate_take(set->gate))
		return true;
	/* What was left by carriers that have ended is for other hosts. */
	return http1_left_close_old(set->left, INT64_MAX, 1) > 0 && connection_gate_take(set->gate);
}

/* One that nobody here has at the moment: given by another carrier, left by one that has ended,
 * taken away from one that does not need it, or unopened. NULL: must_wait, or no memory. */
static struct http1_connection *add_connection(struct http1_set *set, struct http1_lease *lease)
{
	struct http1_connection *connection = lease->given;

	if (!connection && !lease->is_fresh && !lease->has_room)
		connection = http1_left_take(set->left, lease->to);
	if (!connection && !lease->is_fresh && !lease->has_room)
		connection = http1_idle_take_away(&set->idle, lease->to);
	lease->is_reused = connection;
	if (!connection && !lease->has_room && !take_room(set)) {
		lease->must_wait = true;
		return NULL;
	}
	if (!connection) {
		connection = calloc(1, sizeof(*connection));
		if (connection)
			connection->gate = set->gate;
		else if (set->gate)
			connection_gate_leave(set->gate);
	}
	if (connection && http1_hosts_add(&set->idle.hosts, lease->to, connection) < 0) {
		http1_connection_destroy(connection);
		return NULL;
	}
	return connection;
}

void http1_set_take(struct carrier *carrier, void *arg)
{
	struct http1_lease *lease = arg;
	struct http1_set *set = find_or_add(carrier, lease);

	lease->set = set;
	lease->connection = NULL;
	lease->must_wait = false;
	if (!set)
		return;
	http1_idle_lock(&set->idle);
	lease->place = &set->place;
	if (lease->given && lease->given->host)
		lease->connection = lease->given; /* it was here all the time */
	else if (!lease->is_fresh && !lease->given && !lease->has_room)
		lease->connection = take_idle(set, lease->to);
	lease->is_reused = lease->connection;
	if (!lease->connection)
		lease->connection = add_connection(set, lease);
	http1_idle_unlock(&set->idle);
}

/* For others who wait, or to be idle. */
static void keep(struct http1_set *set, struct http1_connection *connection)
{
	struct connection_offer offer = {connection, fits};
	enum connection_use use = CONNECTION_IDLE;

	if (set->gate)
		use = connection_gate_pass(set->gate, &set->place, &offer);
	if (use == CONNECTION_IDLE)
		set_idle(set, connection);
	else if (use == CONNECTION_ELSEWHERE)
		give_elsewhere(set, connection);
}

/* Of fresh ones a host keeps the first alone: if it is called in a way that needs them, they would
 * become ever more. */
void http1_set_give(struct carrier *carrier, void *arg)
{
	struct http1_lease *lease = arg;
	struct http1_connection *connection = lease->connection;

	(void)carrier;
	http1_idle_lock(&lease->set->idle);
	if (lease->is_kept && (!lease->is_fresh || !connection->host->newest))
		keep(lease->set, connection);
	else
		discard(lease->set, connection);
	http1_idle_unlock(&lease->set->idle);
	lease->connection = NULL;
}

void http1_set_find_room(struct carrier *carrier, void *arg)
{
	struct http1_lease *lease = arg;

	(void)carrier;
	http1_idle_lock(&lease->set->idle);
	lease->found_room = close_old(lease->set, INT64_MAX, MOST_AT_A_TIME) > 0;
	http1_idle_unlock(&lease->set->idle);
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
