#include "clients/blocking_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clients/http_fail.h"
#include "clients/url_host.h"
#include "executors/task.h"

/* The head of a reply has to fit, with the start of its body. */
enum { BUFFER_BYTES = 4096 };

/* What has been received of a reply. */
struct reply {
	char buffer[BUFFER_BYTES];
	size_t filled;     /* bytes in @buffer, at most BUFFER_BYTES - 1; then a NUL */
	size_t head_bytes; /* 0 until the whole head is there */
	size_t body_bytes; /* received */
	size_t promised;   /* Content-Length; SIZE_MAX: none */
	int status;
};

static enum http_failure fail_errno(struct http_call *call, enum http_failure otherwise)
{
	if (http_is_shortage(errno))
		return http_fail(call, HTTP_FD_LIMIT, "no descriptor or memory for a socket");
	/* EINPROGRESS: a connect that SO_SNDTIMEO has ended, see socket(7). */
	if (errno == EAGAIN || errno == EINPROGRESS || errno == ETIMEDOUT)
		return http_fail(call, HTTP_TIMEOUT, "the deadline has passed");
	return http_fail(call, otherwise, "the system call failed");
}

/* Have the next blocking call on @fd end with the deadline. False: that has passed. */
static bool bound_wait(int fd, struct deadline deadline)
{
	int64_t left_us = deadline_remaining_ns(deadline) / 1000;
	struct timeval left = {
		.tv_sec = left_us / 1000000 > INT_MAX ? INT_MAX : left_us / 1000000,
		.tv_usec = left_us % 1000000,
	};

	/* Zero would mean for ever. */
	if (left_us > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) == 0)
		return true;
	errno = ETIMEDOUT;
	return false;
}

static bool fill_address(const struct url_host *host, struct sockaddr_storage *storage)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
	char text[INET6_ADDRSTRLEN];

	if (host->name_len >= sizeof(text))
		return false;
	memcpy(text, host->name, host->name_len);
	text[host->name_len] = '\0';
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(host->port);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(host->port);
	}
	return storage->ss_family != AF_UNSPEC;
}

static bool send_request(int fd, const char *url, struct deadline deadline)
{
	size_t authority_len;
	const char *authority = url_authority(url, &authority_len);
	const char *target = authority + authority_len;
	char *text;
	int length = asprintf(&text, "GET %s%.*s HTTP/1.0\r\nHost: %.*s\r\n\r\n",
	                      *target == '/' ? "" : "/", (int)strcspn(target, "#"), target,
	                      (int)authority_len, authority);
	ssize_t sent;

	if (length < 0) {
		errno = ENOMEM;
		return false;
	}
	/* Less than all only if the deadline came in between. */
	sent = bound_wait(fd, deadline) ? send(fd, text, (size_t)length, MSG_NOSIGNAL) : -1;
	free(text);
	if (sent >= 0 && sent < length)
		errno = ETIMEDOUT;
	return sent == length;
}

static bool read_promised(const char *head, size_t *promised)
{
	static const char name[] = "\r\nContent-Length:";
	const char *field = strcasestr(head, name);
	unsigned long long value;

	*promised = SIZE_MAX;
	if (!field)
		return true;
	errno = 0;
	value = strtoull(field + strlen(name), NULL, 10);
	*promised = (size_t)value;
	return errno == 0;
}

/* "HTTP/1.1 200": three digits, as RFC 9112 has it. */
static bool read_status(const char *head, int *status)
{
	size_t version_len = strlen("HTTP/1.x ");

	*status = 0;
	if (strncmp(head, "HTTP/1.", strlen("HTTP/1.")) != 0 || head[version_len - 1] != ' ')
		return false;
	for (const char *digit = head + version_len; digit < head + version_len + 3; digit++) {
		if (*digit < '0' || *digit > '9')
			return false;
		*status = *status * 10 + (*digit - '0');
	}
	return true;
}

/* @received more bytes are in the buffer. False: this is no HTTP. */
static bool take(struct reply *reply, size_t received)
{
	const char *end;

	if (reply->head_bytes) {
		reply->body_bytes += received;
		return true;
	}
	reply->filled += received;
	reply->buffer[reply->filled] = '\0';
	end = strstr(reply->buffer, "\r\n\r\n");
	if (!end)
		return reply->filled < BUFFER_BYTES - 1;
	reply->head_bytes = (size_t)(end - reply->buffer) + 4;
	reply->body_bytes = reply->filled - reply->head_bytes;
	reply->buffer[reply->head_bytes] = '\0';
	reply->filled = 0; /* what follows is counted, not kept */
	return read_status(reply->buffer, &reply->status) &&
	       read_promised(reply->buffer, &reply->promised);
}

static bool is_too_large(const struct reply *reply, size_t max_bytes)
{
	return reply->body_bytes > max_bytes ||
	       (reply->promised > max_bytes && reply->promised != SIZE_MAX);
}

static enum http_failure receive(int fd, struct http_call *call, struct deadline deadline)
{
	struct reply reply = {0};

	while (!reply.head_bytes || reply.body_bytes < reply.promised) {
		ssize_t got = bound_wait(fd, deadline) ? recv(fd, reply.buffer + reply.filled,
		                                              BUFFER_BYTES - 1 - reply.filled, 0)
		                                       : -1;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(call, HTTP_RESET);
		if (got == 0)
			break;
		call->replied = true;
		if (!take(&reply, (size_t)got))
			return http_fail(call, HTTP_PROTOCOL, "the reply is no HTTP");
		if (is_too_large(&reply, call->max_reply_bytes))
			return http_fail(call, HTTP_TOO_LARGE, "the reply is too large");
	}
	if (!reply.head_bytes || (reply.promised != SIZE_MAX && reply.body_bytes < reply.promised))
		return http_fail(call, HTTP_RESET, "the reply was cut off");
	if (reply.body_bytes > reply.promised)
		return http_fail(call, HTTP_PROTOCOL, "the reply is longer than it says");
	call->status = reply.status;
	call->reply_len = reply.body_bytes;
	return HTTP_OK;
}

static enum http_failure call_on(int fd, struct http_call *call,
                                 const struct sockaddr_storage *address, struct deadline deadline)
{
	if (!bound_wait(fd, deadline) ||
	    connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return fail_errno(call, HTTP_CONNECT);
	if (!send_request(fd, call->url, deadline))
		return fail_errno(call, HTTP_RESET);
	return receive(fd, call, deadline);
}

static enum http_failure blocking_call(struct http_client *client, struct http_call *call,
                                       struct deadline deadline)
{
	struct sockaddr_storage address = {0};
	enum cancel_reason reason = task_cancel_reason();
	struct url_host host;
	enum http_failure failure;
	int fd;

	(void)client;
	assert(call->count_only && !call->method && !call->body && call->header_count == 0);
	assert(!call->addresses && !call->keep_headers);
	call->attempts++;
	if (reason != CANCEL_NONE)
		return http_fail(call, reason == CANCEL_DEADLINE ? HTTP_TIMEOUT : HTTP_CANCELED,
		                 "cancelled before it began");
	if (url_host_find(call->url, &host) < 0)
		return http_fail(call, HTTP_PROTOCOL, "not a URL of http://");
	if (host.is_tls)
		return http_fail(call, HTTP_TLS, "this client speaks no TLS");
	if (!fill_address(&host, &address))
		return http_fail(call, HTTP_DNS, "this client takes addresses alone");
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_errno(call, HTTP_FD_LIMIT);
	failure = call_on(fd, call, &address, deadline);
	(void)close(fd);
	return failure;
}

static void blocking_destroy(struct http_client *client)
{
	free(client);
}

static const struct http_client_ops blocking_ops = {
	.name = "blocking",
	.call_bytes = 5632, /* a pair of sockets in the kernel */
	.call = blocking_call,
	.destroy = blocking_destroy,
};

int blocking_client_create(struct http_client **out)
{
	struct http_client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->ops = &blocking_ops;
	*out = client;
	return 0;
}
