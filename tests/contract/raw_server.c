#include "tests/contract/raw_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/with_cmocka.h"

enum { MOST_CONNECTIONS = 64, WAIT_S = 5 };

struct connection {
	int fd;
	unsigned answered;
	size_t length;
	char request[RAW_REQUEST_BYTES];
};

struct raw_server {
	const struct raw_reply *replies;
	pthread_t thread;
	int listener;
	int stop[2]; /* a pipe; the thread ends when its write end is closed */
	uint16_t port;
	struct connection connections[MOST_CONNECTIONS]; /* the thread's; fd -1 is free */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct raw_counts counts;             /* lock */
	char last_request[RAW_REQUEST_BYTES]; /* lock */
};

static void close_connection(struct raw_server *server, struct connection *connection, bool reset)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	if (reset)
		(void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)close(connection->fd);
	connection->fd = -1;
	pthread_mutex_lock(&server->lock);
	server->counts.open--;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
}

static void accept_connection(struct raw_server *server)
{
	int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
	struct connection *free_one = server->connections;

	if (fd < 0)
		return;
	while (free_one->fd >= 0)
		free_one++;
	*free_one = (struct connection){.fd = fd};
	pthread_mutex_lock(&server->lock);
	server->counts.connections++;
	server->counts.open++;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
}

static void send_all(int fd, const struct raw_reply *reply)
{
	size_t length = reply->length ? reply->length : reply->bytes ? strlen(reply->bytes) : 0;
	size_t sent = 0;

	while (sent < length) {
		ssize_t count = send(fd, reply->bytes + sent, length - sent, MSG_NOSIGNAL);

		if (count <= 0)
			return;
		sent += (size_t)count;
	}
}

static const struct raw_reply *find_reply(struct raw_server *server, const char *request)
{
	const char *path = strchr(request, ' ') + 1;
	size_t length = strcspn(path, " ");

	for (const struct raw_reply *reply = server->replies; reply->path; reply++)
		if (strlen(reply->path) == length && memcmp(reply->path, path, length) == 0)
			return reply;
	return NULL;
}

static void answer(struct raw_server *server, struct connection *connection)
{
	const struct raw_reply *reply = find_reply(server, connection->request);

	pthread_mutex_lock(&server->lock);
	server->counts.requests++;
	memcpy(server->last_request, connection->request, connection->length + 1);
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);

	connection->length = 0;
	if (!reply || (reply->answers > 0 && connection->answered == reply->answers)) {
		close_connection(server, connection, false);
		return;
	}
	connection->answered++;
	send_all(connection->fd, reply);
	if (reply->ending != RAW_KEEP)
		close_connection(server, connection, reply->ending == RAW_RESET);
}

static bool is_complete(const struct connection *connection)
{
	const char *end = strstr(connection->request, "\r\n\r\n");
	const char *announced = strcasestr(connection->request, "\r\nContent-Length:");
	size_t body = announced ? strtoul(announced + strlen("\r\nContent-Length:"), NULL, 10) : 0;

	return end && connection->length >=
	                      (size_t)(end - connection->request) + strlen("\r\n\r\n") + body;
}

static void receive(struct raw_server *server, struct connection *connection)
{
	ssize_t count = recv(connection->fd, connection->request + connection->length,
	                     sizeof(connection->request) - 1 - connection->length, 0);

	if (count <= 0) {
		close_connection(server, connection, false);
		return;
	}
	connection->length += (size_t)count;
	connection->request[connection->length] = '\0';
	if (is_complete(connection))
		answer(server, connection);
}

static void *serve(void *arg)
{
	struct raw_server *server = arg;
	struct pollfd polled[2 + MOST_CONNECTIONS];

	for (;;) {
		polled[0] = (struct pollfd){.fd = server->stop[0], .events = POLLIN};
		polled[1] = (struct pollfd){.fd = server->listener, .events = POLLIN};
		for (size_t i = 0; i < MOST_CONNECTIONS; i++)
			polled[2 + i] = (struct pollfd){
				.fd = server->connections[i].fd,
				.events = POLLIN,
			};
		if (poll(polled, 2 + MOST_CONNECTIONS, -1) < 0)
			continue;
		if (polled[0].revents)
			return NULL;
		for (size_t i = 0; i < MOST_CONNECTIONS; i++)
			if (polled[2 + i].revents)
				receive(server, &server->connections[i]);
		if (polled[1].revents)
			accept_connection(server);
	}
}

struct raw_server *raw_server_start(const struct raw_reply *replies)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	struct raw_server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	server->replies = replies;
	server->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	server->changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (size_t i = 0; i < MOST_CONNECTIONS; i++)
		server->connections[i].fd = -1;
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(server->listener >= 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(server->listener, MOST_CONNECTIONS), 0);
	assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
	server->port = ntohs(address.sin_port);
	assert_int_equal(pipe(server->stop), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
	return server;
}

void raw_server_stop(struct raw_server *server)
{
	(void)close(server->stop[1]);
	(void)pthread_join(server->thread, NULL);
	(void)close(server->stop[0]);
	(void)close(server->listener);
	for (size_t i = 0; i < MOST_CONNECTIONS; i++)
		if (server->connections[i].fd >= 0)
			close_connection(server, &server->connections[i], false);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

uint16_t raw_server_port(const struct raw_server *server)
{
	return server->port;
}

void raw_server_counts(struct raw_server *server, struct raw_counts *out)
{
	pthread_mutex_lock(&server->lock);
	*out = server->counts;
	pthread_mutex_unlock(&server->lock);
}

static bool wait_for(struct raw_server *server, const unsigned *count, unsigned wanted)
{
	struct timespec until;
	int error = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&server->lock);
	while (*count != wanted && error == 0)
		error = pthread_cond_timedwait(&server->changed, &server->lock, &until);
	pthread_mutex_unlock(&server->lock);
	return error == 0;
}

bool raw_server_wait_open(struct raw_server *server, unsigned open)
{
	return wait_for(server, &server->counts.open, open);
}

bool raw_server_wait_requests(struct raw_server *server, unsigned requests)
{
	return wait_for(server, &server->counts.requests, requests);
}

void raw_server_last_request(struct raw_server *server, char out[RAW_REQUEST_BYTES])
{
	pthread_mutex_lock(&server->lock);
	memcpy(out, server->last_request, RAW_REQUEST_BYTES);
	pthread_mutex_unlock(&server->lock);
}
