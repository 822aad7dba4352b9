#include "clients/http1_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "clients/http1_exchange.h"
#include "clients/http_fail.h"

/*
 * A call, in a straight line:
 *
 *	write the request (http1_request.c), take a connection of the carrier's
 *	(http1_set.c), connect it if it is new and send (http1_send.c), wait, read into
 *	the carrier's buffer, have that read as a reply (http1_reply.c) and keep the
 *	body (http1_receive.c), give the connection back.
 *
 * On a kept connection that is three system calls: send, recv, and a share of
 * the carrier's epoll_pwait2.
 */
struct http1_client {
	struct http_client client; /* first */
	struct http1_client_options options;
	struct http1_left left;
	struct http1_peers peers;
};

static bool can_be_kept(const struct http1_exchange *exchange)
{
	const struct http1_connection *connection = exchange->lease.connection;

	return exchange->reply.keep_alive && exchange->held == 0 && exchange->sending.left == 0 &&
	       !connection->may_have_more;
}

static enum http_failure take_connection(struct http1_exchange *exchange)
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

static enum http_failure attempt(struct http1_exchange *exchange, bool is_fresh)
{
	struct http_call *call = exchange->call;
	enum http_failure failure;

	exchange->lease = (struct http1_lease){
		.left = exchange->left,
		.peers = exchange->peers,
		.gate = exchange->options->gate,
		.to = &exchange->to,
		.is_fresh = is_fresh,
	};
	http1_sending_init(&exchange->sending, exchange->request);
	exchange->reply = (struct http1_reply){
		.is_to_head = exchange->request->is_head,
		.max_body_bytes = call->max_reply_bytes,
		.counts_fields = call->keep_headers,
	};
	failure = take_connection(exchange);
	if (failure != HTTP_OK)
		return failure;
	if (!exchange->is_stale) /* sent again it is the same attempt */
		call->attempts++;
	failure = http1_exchange_send(exchange);
	if (failure == HTTP_OK)
		failure = http1_exchange_receive(exchange);
	exchange->lease.is_kept = failure == HTTP_OK && can_be_kept(exchange);
	http1_exchange_release_buffer(exchange);
	carrier_call_small(http1_set_give, &exchange->lease);
	return failure;
}

static enum http_failure make_call(struct http1_exchange *exchange)
{
	enum http_failure failure = attempt(exchange, !exchange->request->is_repeatable);

	if (!exchange->is_stale)
		return failure;
	exchange->call->reason = NULL;
	return attempt(exchange, true);
}

static enum http_failure http1_client_call(struct http_client *client, struct http_call *call,
                                           struct deadline deadline)
{
	struct http1_client *self = (struct http1_client *)client;
	struct http1_request request;
	struct http1_exchange exchange = {
		.options = &self->options,
		.left = &self->left,
		.peers = &self->peers,
		.call = call,
		.to.addresses = call->addresses,
		.wait.deadline = deadline,
		.request = &request,
	};
	enum http_failure failure;
	int error;

	if (url_host_find(call->url, &exchange.to.host) < 0)
		return http_fail(call, HTTP_PROTOCOL, "not an http URL");
	if (exchange.to.host.is_tls)
		return http_fail(call, HTTP_TLS, "this client speaks no TLS");
	exchange.wait.site = (struct wait_site){
		.kind = WAIT_CALL,
		.detail = (unsigned)exchange.to.host.name_len,
		.object = exchange.to.host.name,
	};
	error = http1_request_init(&request, call, &exchange.to.host);
	if (error == -ENOMEM)
		return http_fail(call, HTTP_FD_LIMIT, "no memory for the request");
	if (error < 0)
		return http_fail(call, HTTP_PROTOCOL,
		                 "the URL, method or a header cannot be sent as it is");
	failure = make_call(&exchange);
	http1_request_finish(&request);
	return failure;
}

static void http1_client_tick(struct http_client *client)
{
	struct http1_client *self = (struct http1_client *)client;

	(void)http1_left_close_old(&self->left, deadline_now_ns() - HTTP1_IDLE_NS, HTTP1_LEFT_MAX);
}

static void http1_client_destroy(struct http_client *client)
{
	struct http1_client *self = (struct http1_client *)client;

	http1_left_finish(&self->left);
	http1_peers_finish(&self->peers);
	free(self);
}

static const struct http_client_ops http1_client_ops = {
	.name = "http1",
	.call_bytes = 5632, /* a pair of sockets in the kernel; nothing here while it waits */
	.call = http1_client_call,
	.tick = http1_client_tick,
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
	http1_peers_init(&self->peers);
	*out = &self->client;
	return 0;
}
