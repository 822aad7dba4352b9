#include "loadtests/floor/bare_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "executors/decimal.h"

enum {
	EVENTS_MAX = 512,
	REPLY_BYTES_MAX = 4096,
	REQUEST_BYTES_MAX = 256,
	PATIENCE_MS = 10000,
	NS_PER_MS = 1000000,
};

/* All zero is none, so that memory is only taken for those that there are. */
struct connection {
	int fd;
	unsigned received;
	bool open;
	bool connecting;
	bool in_flight;
};

struct bare_client {
	struct sockaddr_in upstream;
	int epoll_fd;
	char request[REQUEST_BYTES_MAX]; /* of this round */
	size_t request_bytes;
	size_t reply_bytes; /* 0: no reply has been seen yet */
	int64_t rss_bytes_at_start;
	struct bare_round *round; /* the one under way */
	unsigned calls_max;
	struct connection connections[];
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	int error = clock_gettime(clock, &now);

	assert(error == 0);
	return (uint64_t)now.tv_sec * 1000 * NS_PER_MS + (uint64_t)now.tv_nsec;
}

/* 0 if it cannot be told. */
static int64_t resident_bytes(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text));
	const char *second, *end;
	uint64_t pages;

	if (fd >= 0)
		(void)close(fd);
	second = length > 0 ? memchr(text, ' ', (size_t)length) : NULL;
	if (!second)
		return 0;
	second++;
	end = memchr(second, ' ', (size_t)(text + length - second));
	if (!end || !decimal_read(second, (size_t)(end - second), &pages))
		return 0;
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

int bare_client_create(const struct sockaddr_in *upstream, unsigned calls_max,
                       struct bare_client **out)
{
	int64_t rss_bytes_at_start = resident_bytes();
	struct bare_client *client =
		calloc(1, sizeof(*client) + calls_max * sizeof(client->connections[0]));

	if (!client)
		return -ENOMEM;
	client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (client->epoll_fd < 0) {
		int error = -errno;

		free(client);
		return error;
	}
	client->upstream = *upstream;
	client->rss_bytes_at_start = rss_bytes_at_start;
	client->calls_max = calls_max;
	*out = client;
	return 0;
}

static void close_connection(struct connection *connection)
{
	if (connection->open)
		(void)close(connection->fd); /* takes it out of the epoll set, too */
	connection->open = false;
}

void bare_client_close_connections(struct bare_client *client)
{
	for (unsigned i = 0; i < client->calls_max; i++)
		close_connection(&client->connections[i]);
}

void bare_client_destroy(struct bare_client *client)
{
	if (!client)
		return;
	bare_client_close_connections(client);
	(void)close(client->epoll_fd);
	free(client);
}

static void end_call(struct bare_client *client, struct connection *connection, bool ok)
{
	connection->in_flight = false;
	if (ok) {
		client->round->ok++;
	} else {
		client->round->failed++;
		close_connection(connection);
	}
}

static void send_request(struct bare_client *client, struct connection *connection)
{
	ssize_t sent = send(connection->fd, client->request, client->request_bytes, MSG_NOSIGNAL);

	connection->connecting = false;
	if (sent != (ssize_t)client->request_bytes)
		end_call(client, connection, false);
}

/* Registered once and edge-triggered: a warm call then is a send, a read, and its share of
 * epoll_wait(). Whether it can be written matters only if it is still to be connected. */
static int open_connection(struct bare_client *client, unsigned index)
{
	struct connection *connection = &client->connections[index];
	struct epoll_event interest = {.events = EPOLLIN | EPOLLET, .data.u32 = index};

	connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connection->fd < 0)
		return -errno;
	connection->open = true;
	connection->connecting = connect(connection->fd, (struct sockaddr *)&client->upstream,
	                                 sizeof(client->upstream)) < 0;
	if (connection->connecting && errno != EINPROGRESS)
		return -errno;
	if (connection->connecting)
		interest.events |= EPOLLOUT;
	if (epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, connection->fd, &interest) < 0)
		return -errno;
	client->round->opened++;
	return 0;
}

static void start_call(struct bare_client *client, unsigned index)
{
	struct connection *connection = &client->connections[index];

	connection->received = 0;
	connection->in_flight = true;
	if (!connection->open && open_connection(client, index) < 0)
		end_call(client, connection, false);
	else if (!connection->connecting)
		send_request(client, connection);
}

/* How long the reply is that starts with these bytes; 0: that cannot be told. */
static size_t whole_length(const char *reply, size_t length)
{
	static const char good[] = "HTTP/1.1 200 ", field[] = "\r\nContent-Length: ";
	const char *end = memmem(reply, length, "\r\n\r\n", 4);
	const char *value = memmem(reply, length, field, sizeof(field) - 1);
	size_t digits = 0;
	uint64_t body_bytes;

	if (!end || !value || value > end || memcmp(reply, good, sizeof(good) - 1) != 0)
		return 0;
	value += sizeof(field) - 1;
	while (value[digits] != '\r') /* there is one at @end */
		digits++;
	if (!decimal_read(value, digits, &body_bytes) || body_bytes > REPLY_BYTES_MAX)
		return 0;
	return (size_t)(end - reply) + 4 + (size_t)body_bytes;
}

static void read_reply(struct bare_client *client, struct connection *connection)
{
	char reply[REPLY_BYTES_MAX];
	ssize_t length = read(connection->fd, reply, sizeof(reply));

	if (length < 0 && errno == EAGAIN)
		return;
	if (length <= 0 || !connection->in_flight) {
		if (connection->in_flight)
			end_call(client, connection, false);
		close_connection(connection);
		return;
	}
	if (client->reply_bytes == 0)
		client->reply_bytes = whole_length(reply, (size_t)length);
	connection->received += (unsigned)length;
	if (connection->received >= client->reply_bytes)
		end_call(client, connection, connection->received == client->reply_bytes);
}

static void happened(struct bare_client *client, const struct epoll_event *event)
{
	struct connection *connection = &client->connections[event->data.u32];

	if (!connection->open)
		return;
	if (connection->connecting)
		send_request(client, connection);
	else
		read_reply(client, connection);
}

static void give_up(struct bare_client *client)
{
	for (unsigned i = 0; i < client->round->calls; i++)
		if (client->connections[i].in_flight)
			end_call(client, &client->connections[i], false);
}

static void collect(struct bare_client *client)
{
	const struct bare_round *round = client->round;
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) +
	                  ((uint64_t)round->delay_ms + PATIENCE_MS) * (uint64_t)NS_PER_MS;
	struct epoll_event events[EVENTS_MAX];

	while (round->ok + round->failed < round->calls) {
		int count = epoll_wait(client->epoll_fd, events, EVENTS_MAX, PATIENCE_MS);

		for (int i = 0; i < count; i++)
			happened(client, &events[i]);
		if (count < EVENTS_MAX && now_ns(CLOCK_MONOTONIC) > end_ns)
			give_up(client);
	}
}

static void write_request(struct bare_client *client, unsigned delay_ms)
{
	char host[INET_ADDRSTRLEN];
	const char *text = inet_ntop(AF_INET, &client->upstream.sin_addr, host, sizeof(host));
	int length = snprintf(client->request, sizeof(client->request),
	                      "GET /slow?ms=%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", delay_ms, text,
	                      ntohs(client->upstream.sin_port));

	assert(text && length > 0 && length < REQUEST_BYTES_MAX);
	client->request_bytes = (size_t)length;
}

void bare_client_round(struct bare_client *client, unsigned calls, unsigned delay_ms,
                       struct bare_round *round)
{
	uint64_t wall_ns = now_ns(CLOCK_MONOTONIC);
	uint64_t cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	assert(calls > 0 && calls <= client->calls_max);
	*round = (struct bare_round){.calls = calls, .delay_ms = delay_ms};
	client->round = round;
	write_request(client, delay_ms);
	for (unsigned i = 0; i < calls; i++)
		start_call(client, i);
	if (delay_ms > 0) /* not in a round that is short: this takes about as long as four calls */
		round->rss_bytes = resident_bytes() - client->rss_bytes_at_start;
	collect(client);
	client->round = NULL;
	round->wall_ns = now_ns(CLOCK_MONOTONIC) - wall_ns;
	round->cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
}
