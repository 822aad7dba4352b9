#include "clients/http1_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http1_set.h"
#include "clients/http_fail.h"

/*
 * A call, in a straight line:
 *
 *	write the request (http1_request.c), take a connection of the carrier's
 *	(http1_set.c), connect it if it is new, send, wait, read into the carrier's
 *	buffer (http1_connection.c), have that read as a reply (http1_reply.c), keep
 *	the body, give the connection back.
 *
 * On a kept connection that is three system calls: send, recv, and a share of
 * the carrier's epoll_pwait2.
 */
struct http1_client {
	struct http_client client; /* first */
	struct http1_client_options options;
	struct http1_left left;
};

/* One call under way. On its task's stack. */
struct exchange {
	struct http1_client *client;
	struct http_call *call;
	struct url_host host;
	struct http1_wait wait;
	struct http1_request *request;

	/* Of one attempt. */
	struct http1_lease lease;
	struct http1_reply reply;
	struct http1_buffer *buffer; /* NULL while it waits, but with a part of a head */
	size_t held;                 /* bytes in @buffer that are not read as the reply yet */
	size_t capacity;             /* allocated at call->reply */
	bool has_received;           /* anything */
	bool is_stale;               /* the server has closed a kept connection */
};

/* ------ the reply */

/* Room for the body so far and a NUL: exact if its length is known. */
static bool reserve(struct exchange *exchange, size_t bytes)
{
	const struct http1_reply *reply = &exchange->reply;
	size_t capacity = 2 * exchange->capacity;
	char *memory;

	if (bytes <= exchange->capacity)
		return true;
	if (capacity > reply->max_body_bytes)
		capacity = reply->max_body_bytes + 1;
	if (capacity < bytes)
		capacity = bytes;
	if (reply->part == HTTP1_PART_COUNTED)
		capacity = reply->length + 1;
	memory = realloc(exchange->call->reply, capacity);
	if (!memory)
		return false;
	exchange->call->reply = memory;
	exchange->capacity = capacity;
	return true;
}

static bool keep(struct exchange *exchange, const struct http1_piece *piece)
{
	struct http_call *call = exchange->call;
	size_t bytes = exchange->reply.body_bytes;

	if (call->count_only || exchange->reply.part == HTTP1_PART_HEAD)
		return true;
	if (!reserve(exchange, bytes + 1))
		return false;
	if (piece->body_bytes > 0)
		memcpy(call->reply + bytes - piece->body_bytes, piece->body, piece->body_bytes);
	call->reply[bytes] = '\0';
	return true;
}

static void release_buffer(struct exchange *exchange)
{
	http1_set_give_buffer(exchange->lease.set, exchange->buffer);
	exchange->buffer = NULL;
}

/* @got bytes more are in the buffer. */
static enum http_failure take(struct exchange *exchange, size_t got, enum http1_verdict *verdict)
{
	struct http1_buffer *buffer = exchange->buffer;
	struct http1_piece piece;

	exchange->has_received = true;
	exchange->held += got;
	*verdict = http1_reply_read(&exchange->reply, buffer->bytes, exchange->held,
	                            buffer->headers, &piece);
	if (*verdict == HTTP1_MALFORMED)
		return http_fail(exchange->call, HTTP_PROTOCOL, exchange->reply.fault);
	if (*verdict == HTTP1_TOO_LARGE)
		return http_fail(exchange->call, HTTP_TOO_LARGE, "the reply is too large");
	if (!keep(exchange, &piece))
		return http_fail(exchange->call, HTTP_FD_LIMIT, "no memory for the reply");
	exchange->held -= piece.used;
	if (*verdict == HTTP1_MORE && exchange->held > 0)
		memmove(buffer->bytes, buffer->bytes + piece.used, exchange->held);
	return HTTP_OK;
}

/* The connection has ended: with 0, or with a negative errno. */
static enum http_failure take_end(struct exchange *exchange, ssize_t end,
                                  enum http1_verdict *verdict)
{
	if (end == 0 && http1_reply_ends(&exchange->reply)) {
		*verdict = HTTP1_WHOLE;
		return HTTP_OK;
	}
	exchange->is_stale = exchange->lease.is_reused && !exchange->has_received;
	return http_fail(exchange->call, HTTP_RESET,
	                 end == 0 ? "the connection was closed before the reply was whole"
	                          : "the connection was reset");
}

static enum http_failure read_some(struct exchange *exchange, enum http1_verdict *verdict)
{
	ssize_t got;

	if (!exchange->buffer)
		exchange->buffer = http1_set_take_buffer(exchange->lease.set);
	if (!exchange->buffer)
		return http_fail(exchange->call, HTTP_FD_LIMIT, "no memory to read the reply");
	got = http1_connection_read(exchange->lease.connection,
	                            exchange->buffer->bytes + exchange->held,
	                            sizeof(exchange->buffer->bytes) - exchange->held);
	if (got > 0)
		return take(exchange, (size_t)got, verdict);
	return got == -EAGAIN ? HTTP_OK : take_end(exchange, got, verdict);
}

static enum http_failure receive(struct exchange *exchange)
{
	enum http1_verdict verdict = HTTP1_MORE;

	while (verdict == HTTP1_MORE) {
		int error = http1_connection_wait(exchange->lease.connection, &exchange->wait);
		enum http_failure failure;

		if (error < 0)
			return http_fail_wait(exchange->call, error);
		failure = read_some(exchange, &verdict);
		if (failure != HTTP_OK)
			return failure;
		if (exchange->held == 0)
			release_buffer(exchange);
	}
	exchange->call->status = exchange->reply.status;
	exchange->call->reply_len = exchange->reply.body_bytes;
	return HTTP_OK;
}

/* ------ the request */

/* @error is of http1_connection_open() or _send(). */
static enum http_failure fail_to_send(struct exchange *exchange, int error)
{
	struct http_call *call = exchange->call;

	if (error == -ECANCELED)
		return http_fail_wait(call, error);
	if (error == -ETIMEDOUT)
		return http_fail(call, HTTP_TIMEOUT,
		                 exchange->lease.connection->state == HTTP1_CONNECTED
		                         ? "the call's deadline has passed"
		                         : "connecting took too long");
	if (http_is_shortage(-error))
		return http_fail(call, HTTP_FD_LIMIT, "no descriptor or memory for a connection");
	return http_fail(call, HTTP_CONNECT,
	                 error == -ECONNREFUSED ? "the connection was refused"
	                                        : "there is no way to connect");
}

static int open_connection(struct exchange *exchange, const struct http1_address *address,
                           struct deadline until)
{
	int error = http1_connection_open(exchange->lease.connection, address, until);

	if (error != -EMFILE && error != -ENFILE)
		return error;
	/* Idle connections may be what there are no descriptors left by. */
	carrier_call(http1_set_find_room, &exchange->lease);
	return exchange->lease.found_room
	               ? http1_connection_open(exchange->lease.connection, address, until)
	               : error;
}

/* Afterwards the connection is connected, or unopened again if only that has failed. */
static int try_address(struct exchange *exchange, const struct http1_address *address,
                       struct deadline until)
{
	struct http1_connection *connection = exchange->lease.connection;
	int error = open_connection(exchange, address, until);

	if (error < 0)
		return error;
	error = http1_connection_send(connection, exchange->request, &exchange->wait);
	if (error < 0 && connection->state == HTTP1_CONNECTING)
		http1_connection_close(connection);
	return error;
}

/* Whether another address may do. */
static bool is_unreachable(int error)
{
	return error < 0 && error != -ECANCELED && error != -ETIMEDOUT && !http_is_shortage(-error);
}

static enum http_failure connect_to_literal(struct exchange *exchange)
{
	const struct url_host *host = &exchange->host;
	struct http1_address address;
	int error = -EADDRNOTAVAIL;

	if (http1_address_read(host->name, host->name_len, host->port, &address))
		error = try_address(exchange, &address,
		                    deadline_in_ms(exchange->client->options.connect_timeout_ms));
	return error < 0 ? fail_to_send(exchange, error) : HTTP_OK;
}

static enum http_failure connect_by_name(struct exchange *exchange)
{
	const struct http1_client_options *options = &exchange->client->options;
	const struct url_host *host = &exchange->host;
	struct http1_address address;
	struct resolver_answer answer;
	const char *left = answer.addresses;
	struct deadline until;
	enum http_failure failure;
	int error = -EADDRNOTAVAIL;

	failure = http_look_up(exchange->call, options->resolver, host, exchange->wait.deadline,
	                       &answer);
	if (failure != HTTP_OK)
		return failure;
	until = deadline_in_ms(options->connect_timeout_ms);
	while (http1_address_take(&left, host->port, &address)) {
		error = try_address(exchange, &address, until);
		if (!is_unreachable(error) || exchange->lease.connection->state == HTTP1_CONNECTED)
			break;
	}
	return error < 0 ? fail_to_send(exchange, error) : HTTP_OK;
}

static enum http_failure send_request(struct exchange *exchange)
{
	struct http1_connection *connection = exchange->lease.connection;
	int error = 0;

	if (!exchange->lease.is_reused)
		return exchange->host.is_address ? connect_to_literal(exchange)
		                                 : connect_by_name(exchange);
	if (connection->state == HTTP1_DETACHED)
		error = http1_connection_attach(connection);
	if (error == 0)
		error = http1_connection_send(connection, exchange->request, &exchange->wait);
	return error < 0 ? fail_to_send(exchange, error) : HTTP_OK;
}

/* ------ the call */

static bool can_be_kept(const struct exchange *exchange)
{
	const struct http1_connection *connection = exchange->lease.connection;

	return exchange->reply.keep_alive && exchange->held == 0 && !connection->is_cut &&
	       !connection->may_have_more;
}

static enum http_failure take_connection(struct exchange *exchange)
{
	struct http1_lease *lease = &exchange->lease;

	carrier_call_small(http1_set_take, lease);
	if (lease->must_wait) {
		void *given;
		int error = connection_gate_wait(lease->gate, lease->place,
		                                 lease->is_fresh ? NULL : lease->to,
		                                 exchange->wait.deadline, &given);

		if (error < 0)
			return http_fail_wait(exchange->call, error);
		lease->given = given;
		lease->has_room = !given;
		carrier_call_small(http1_set_take, lease);
	}
	if (!lease->connection)
		return http_fail(exchange->call, HTTP_FD_LIMIT, "no memory for a connection");
	return HTTP_OK;
}

static enum http_failure attempt(struct exchange *exchange, bool is_fresh)
{
	struct http_call *call = exchange->call;
	enum http_failure failure;

	exchange->lease = (struct http1_lease){
		.left = &exchange->client->left,
		.gate = exchange->client->options.gate,
		.to = &exchange->host,
		.is_fresh = is_fresh,
	};
	exchange->reply = (struct http1_reply){
		.is_to_head = exchange->request->is_head,
		.max_body_bytes = call->max_reply_bytes,
	};
	failure = take_connection(exchange);
	if (failure != HTTP_OK)
		return failure;
	failure = send_request(exchange);
	if (failure == HTTP_OK)
		failure = receive(exchange);
	exchange->lease.is_kept = failure == HTTP_OK && can_be_kept(exchange);
	release_buffer(exchange);
	carrier_call_small(http1_set_give, &exchange->lease);
	return failure;
}

static enum http_failure make_call(struct exchange *exchange)
{
	enum http_failure failure = attempt(exchange, !exchange->request->is_idempotent);

	if (!exchange->is_stale)
		return failure;
	exchange->call->reason = NULL;
	return attempt(exchange, true);
}

static enum http_failure http1_client_call(struct http_client *client, struct http_call *call,
                                           struct deadline deadline)
{
	struct http1_request request;
	struct exchange exchange = {
		.client = (struct http1_client *)client,
		.call = call,
		.wait.deadline = deadline,
		.request = &request,
	};
	enum http_failure failure;
	int error;

	if (url_host_find(call->url, &exchange.host) < 0)
		return http_fail(call, HTTP_PROTOCOL, "not an http URL");
	if (exchange.host.is_tls)
		return http_fail(call, HTTP_TLS, "this client speaks no TLS");
	exchange.wait.site = (struct wait_site){
		.kind = WAIT_CALL,
		.detail = (unsigned)exchange.host.name_len,
		.object = exchange.host.name,
	};
	error = http1_request_init(&request, call, &exchange.host);
	if (error == -ENOMEM)
		return http_fail(call, HTTP_FD_LIMIT, "no memory for the request");
	if (error < 0)
		return http_fail(call, HTTP_PROTOCOL, "the URL or method cannot be sent as it is");
	failure = make_call(&exchange);
	http1_request_finish(&request);
	return failure;
}

static void http1_client_destroy(struct http_client *client)
{
	struct http1_client *self = (struct http1_client *)client;

	http1_left_finish(&self->left);
	free(self);
}

static const struct http_client_ops http1_client_ops = {
	.name = "http1",
	.call = http1_client_call,
	.destroy = http1_client_destroy,
};

int http1_client_create(const struct http1_client_options *options, struct http_client **out)
{
	struct http1_client *self = calloc(1, sizeof(*self));

	assert(options->connect_timeout_ms >= 1 && options->resolver);
	if (!self)
		return -ENOMEM;
	self->client.ops = &http1_client_ops;
	self->options = *options;
	http1_left_init(&self->left);
	*out = &self->client;
	return 0;
}
