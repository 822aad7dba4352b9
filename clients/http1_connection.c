#include "clients/http1_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Two system calls are left out that a client usually makes.
 *
 * The read that fails with EAGAIN. After a request has been sent we wait, although
 * io.h says to read first, and that loses no wake-up: poller edges are kept in the
 * io until a wait consumes them, before the read that follows. When a read has come
 * short, it has emptied the socket; whatever arrives after that raises an edge
 * which no wait has consumed yet, so the next wait ends. Only after a read that
 * filled its room, or a wait for something else that may have consumed the edge,
 * is there anything that no edge is going to tell of: @may_have_more.
 *
 * The getsockopt(SO_ERROR). send(2) is tried while connecting: on Linux it fails
 * with EAGAIN until connected, and with the error of the connect if that failed. On
 * one machine it mostly succeeds at once.
 */

int http1_connection_open(struct http1_connection *connection, const struct http1_address *address,
                          struct deadline until)
{
	int fd, on = 1, error;

	fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* The end of a long body would wait for an acknowledgement. Without it, it does. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	error = 0;
	if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0 &&
	    errno != EINPROGRESS && errno != EINTR)
		error = -errno;
	if (error == 0)
		error = io_open(&connection->io, fd);
	if (error < 0) {
		(void)close(fd);
		return error;
	}
	connection->state = HTTP1_CONNECTING;
	connection->connect_until = until;
	return 0;
}

int http1_connection_attach(struct http1_connection *connection)
{
	int error = io_open(&connection->io, connection->io.fd);

	if (error == 0)
		connection->state = HTTP1_CONNECTED;
	return error;
}

bool http1_connection_is_quiet(const struct http1_connection *connection)
{
	char byte;

	return recv(connection->io.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EINTR);
}

void http1_sending_init(struct http1_sending *sending, const struct http1_request *request)
{
	*sending = (struct http1_sending){
		.parts = {{(void *)request->head, request->head_bytes},
	                  {(void *)request->body, request->body_bytes}},
		.left = 2,
	};
	if (request->body_bytes == 0) {
		sending->parts[1] = sending->parts[0];
		sending->left = 1;
	}
}

static struct iovec *first_left(struct http1_sending *sending)
{
	return sending->parts + 2 - sending->left;
}

/* @sent bytes less to send. */
static void advance(struct http1_sending *sending, size_t sent)
{
	while (sending->left > 0 && sent >= first_left(sending)->iov_len) {
		sent -= first_left(sending)->iov_len;
		sending->left--;
	}
	if (sending->left > 0) {
		struct iovec *first = first_left(sending);

		first->iov_base = (char *)first->iov_base + sent;
		first->iov_len -= sent;
	}
}

/* Once connected, for something to read as well: a server that refuses a long request may answer,
 * and read no further. 0: try again. 1: read first. */
static int wait_to_send(struct http1_connection *connection, const struct http1_wait *wait)
{
	int error;

	if (connection->state == HTTP1_CONNECTING)
		return io_wait_at(&connection->io, EPOLLOUT, wait->site,
		                  deadline_earlier(wait->deadline, connection->connect_until));
	error = io_wait_at(&connection->io, EPOLLIN | EPOLLOUT, wait->site, wait->deadline);
	connection->may_have_more = true;
	return error < 0 ? error : !http1_connection_is_quiet(connection);
}

/* send(2) has failed with @error. 0: try again; 1: read what there is. */
static int after_failed_send(struct http1_connection *connection, struct http1_sending *sending,
                             int error, const struct http1_wait *wait)
{
	switch (error) {
	case EINTR:
		return 0;
	case EAGAIN:
		return wait_to_send(connection, wait);
	case ENOBUFS:
	case ENOMEM:
		return -error;
	default:
		if (connection->state == HTTP1_CONNECTING)
			return -error;
		sending->is_refused = true;
		return 1;
	}
}

/* What is one piece goes by send(2), which is cheaper. */
static ssize_t send_some(int fd, struct http1_sending *sending)
{
	struct iovec *first = first_left(sending);
	struct msghdr message = {.msg_iov = first, .msg_iovlen = sending->left};

	if (sending->left == 1)
		return send(fd, first->iov_base, first->iov_len, MSG_NOSIGNAL);
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

int http1_connection_send(struct http1_connection *connection, struct http1_sending *sending,
                          const struct http1_wait *wait)
{
	while (sending->left > 0) {
		ssize_t sent = send_some(connection->io.fd, sending);
		int next;

		if (sent >= 0) {
			connection->state = HTTP1_CONNECTED;
			advance(sending, (size_t)sent);
			continue;
		}
		next = after_failed_send(connection, sending, errno, wait);
		if (next != 0)
			return next < 0 ? next : 0;
	}
	return 0;
}

void http1_connection_close(struct http1_connection *connection)
{
	io_close(&connection->io);
	connection->state = HTTP1_UNOPENED;
}

int http1_connection_wait(struct http1_connection *connection, const struct http1_wait *wait)
{
	if (connection->may_have_more)
		return 0;
	return io_wait_at(&connection->io, EPOLLIN, wait->site, wait->deadline);
}

ssize_t http1_connection_read(struct http1_connection *connection, void *into, size_t room)
{
	ssize_t got;

	do
		got = recv(connection->io.fd, into, room, 0);
	while (got < 0 && errno == EINTR);
	connection->may_have_more = got == (ssize_t)room;
	return got < 0 ? -errno : got;
}

/* No system call if nothing was reported. EPOLLIN alone may be of bytes that were read before it
 * was reported; else nobody has asked for what there is. */
bool http1_connection_is_alive(struct http1_connection *connection)
{
	uint32_t events = io_pending(&connection->io) & ~(uint32_t)EPOLLOUT;

	return events == 0 || (events == EPOLLIN && http1_connection_is_quiet(connection));
}

void http1_connection_detach(struct http1_connection *connection)
{
	io_detach(&connection->io);
	connection->state = HTTP1_DETACHED;
}

void http1_connection_destroy(struct http1_connection *connection)
{
	if (connection->state == HTTP1_CONNECTING || connection->state == HTTP1_CONNECTED)
		http1_connection_detach(connection);
	if (connection->state == HTTP1_DETACHED)
		(void)close(connection->io.fd); /* Linux closes it whatever it returns */
	if (connection->gate)
		connection_gate_leave(connection->gate);
	free(connection);
}
