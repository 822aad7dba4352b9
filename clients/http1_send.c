#include "clients/http1_exchange.h"

#include <errno.h>

#include "clients/http_fail.h"

/* How long an address has to answer, whatever others there are. */
#define LEAST_SHARE_NS INT64_C(250000000)

/* Why an address is not connected to: an errno that no system call gives here. */
#define NOT_ALLOWED (-EKEYREJECTED)

enum http_failure http1_exchange_fail(struct http1_exchange *exchange, int error)
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
	if (error == NOT_ALLOWED)
		return http_fail(call, HTTP_CONNECT, HTTP_ADDRESS_NOT_ALLOWED);
	return http_fail(call, HTTP_CONNECT,
	                 error == -ECONNREFUSED ? "the connection was refused"
	                                        : "there is no way to connect");
}

static int open_connection(struct http1_exchange *exchange, const struct http1_address *address,
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
static int try_address(struct http1_exchange *exchange, const struct http1_address *address,
                       struct deadline until)
{
	struct http1_connection *connection = exchange->lease.connection;
	const struct address_policy *addresses = exchange->to.addresses;
	int error;

	if (addresses && !addresses->allows(addresses, (const struct sockaddr *)&address->storage))
		return NOT_ALLOWED;
	error = open_connection(exchange, address, until);
	if (error < 0)
		return error;
	error = http1_connection_send(connection, &exchange->sending, &exchange->wait);
	if (error < 0 && connection->state == HTTP1_CONNECTING)
		http1_connection_close(connection);
	return error;
}

/* Whether another address may do. */
static bool is_worth_another(const struct http1_exchange *exchange, int error)
{
	return error < 0 && error != -ECANCELED && !http_is_shortage(-error) &&
	       exchange->lease.connection->state != HTTP1_CONNECTED;
}

/* Until when the first of @addresses may take: one that does not answer leaves time for those after
 * it. @until is never later than the call's deadline. */
static struct deadline share_of(struct deadline until, unsigned addresses)
{
	int64_t share_ns;

	if (addresses == 1)
		return until;
	share_ns = deadline_remaining_ns(until) / addresses;
	if (share_ns < LEAST_SHARE_NS)
		share_ns = LEAST_SHARE_NS;
	return deadline_earlier(until, deadline_in_ns(share_ns));
}

static enum http_failure connect_to_literal(struct http1_exchange *exchange)
{
	const struct url_host *host = &exchange->to.host;
	struct http1_address address;
	int error = -EADDRNOTAVAIL;

	if (http1_address_read(host->name, host->name_len, host->port, &address))
		error = try_address(exchange, &address,
		                    deadline_in_ms(exchange->options->connect_timeout_ms));
	return error < 0 ? http1_exchange_fail(exchange, error) : HTTP_OK;
}

static enum http_failure connect_by_name(struct http1_exchange *exchange)
{
	const struct http1_client_options *options = exchange->options;
	const struct url_host *host = &exchange->to.host;
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
	until = deadline_earlier(exchange->wait.deadline,
	                         deadline_in_ms(options->connect_timeout_ms));
	while (http1_address_take(&left, host->port, &address)) {
		error = try_address(exchange, &address,
		                    share_of(until, 1 + http1_address_count(left)));
		if (!is_worth_another(exchange, error) || deadline_remaining_ns(until) == 0)
			break;
	}
	return error < 0 ? http1_exchange_fail(exchange, error) : HTTP_OK;
}

enum http_failure http1_exchange_send(struct http1_exchange *exchange)
{
	struct http1_connection *connection = exchange->lease.connection;
	int error = 0;

	if (!exchange->lease.is_reused)
		return exchange->to.host.is_address ? connect_to_literal(exchange)
		                                    : connect_by_name(exchange);
	if (connection->state == HTTP1_DETACHED)
		error = http1_connection_attach(connection);
	if (error == 0)
		error = http1_connection_send(connection, &exchange->sending, &exchange->wait);
	return error < 0 ? http1_exchange_fail(exchange, error) : HTTP_OK;
}
