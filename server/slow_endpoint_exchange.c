#include "server/slow_endpoint_exchange.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "executors/deadline.h"
#include "executors/splitmix64.h"
#include "server/slow_endpoint_request.h"

#define LINGER_NS INT64_C(1000000000)

enum {
	/* A connection gives way to the others after so much work in one go. */
	TURN_REQUESTS = 64,
	TURN_BYTES = 1 << 20,
};

/* What the loop in run() does after a step. */
enum step {
	STEP_ON,   /* the state has changed: take the next step */
	STEP_REST, /* until an event or the timer */
	STEP_GONE, /* the connection is closed */
};

/* What is left of the turn. */
struct turn {
	int requests;
	int bytes;
};

static enum step gone(struct slow_connection *connection)
{
	slow_connection_close(connection);
	return STEP_GONE;
}

/* Go on at the loop's next round: the edge that brought us here will not be reported again. */
static enum step rest_until_next_round(struct slow_connection *connection)
{
	slow_connection_set_timer(connection, deadline_now_ns());
	return STEP_REST;
}

/* connect(AF_UNSPEC) makes the kernel send a reset; see connect(2) and tcp_disconnect(). */
static enum step reset_connection(struct slow_connection *connection)
{
	struct sockaddr unspecified = {.sa_family = AF_UNSPEC};

	(void)connect(connection->fd, &unspecified, sizeof(unspecified));
	return gone(connection);
}

/* Nothing more will be sent. A close with input unread would be a reset, and cost the client
 * the answer that is on its way. */
static enum step end_connection(struct slow_connection *connection)
{
	bool has_unread = connection->input_start < connection->input_end || connection->readable ||
	                  connection->unframed;

	if (!has_unread || connection->peer_closed)
		return gone(connection);
	if (shutdown(connection->fd, SHUT_WR))
		return gone(connection);
	connection->state = SLOW_LINGERING;
	slow_connection_set_timer(connection, deadline_now_ns() + LINGER_NS);
	return STEP_ON;
}

static int set_text(struct slow_connection *connection, unsigned status, const char *content_type,
                    const char *text)
{
	struct slow_answer *answer = &connection->answer;

	answer->text = strdup(text);
	if (!answer->text)
		return -ENOMEM;
	answer->body_bytes = strlen(text);
	answer->status = status;
	answer->content_type = content_type;
	return 0;
}

static int set_stats_text(struct slow_connection *connection)
{
	struct slow_endpoint_stats stats;
	char text[SLOW_STATS_TEXT_BYTES];

	slow_counters_read(&connection->loop->counters, &stats);
	(void)slow_stats_format(&stats, text);
	return set_text(connection, 200, "application/json", text);
}

/* Turn the request into what start_request() needs; the request itself is not kept. */
static int prepare_answer(struct slow_connection *connection, const struct slow_request *request)
{
	connection->unframed = request->unframed;
	connection->skip_bytes = request->content_bytes;
	connection->is_slow = request->route == SLOW_ROUTE_SLOW;
	connection->sent = 0;
	connection->answer = (struct slow_answer){
		.content_type = "text/plain",
		.allow = request->allow,
		.keep_alive = request->keep_alive,
		.http_1_0 = request->http_1_0,
		.omits_body = request->is_head,
	};
	switch (request->route) {
	case SLOW_ROUTE_SLOW:
		connection->parameters = request->parameters;
		return 0;
	case SLOW_ROUTE_ECHO:
		return 0; /* once its body is there */
	case SLOW_ROUTE_STATS_RESET:
		slow_counters_reset(&connection->loop->counters);
		connection->loop->slow = connection->loop->failing = (struct slow_shares){0};
		return set_stats_text(connection);
	case SLOW_ROUTE_STATS:
		return set_stats_text(connection);
	case SLOW_ROUTE_REFUSED:
		break;
	}
	return set_text(connection, request->refused_status, "text/plain", request->refused_text);
}

/* Uniform in 0 … @max_ns. */
static int64_t random_ns(struct slow_loop *loop, uint64_t max_ns)
{
	return (int64_t)(splitmix64_next(&loop->random_state) % (max_ns + 1));
}

static enum step answer_slow(struct slow_connection *connection)
{
	const struct slow_parameters *parameters = &connection->parameters;
	struct slow_answer *answer = &connection->answer;

	slow_counters_end(&connection->loop->counters, SLOW_ANSWERED);
	connection->state = SLOW_WRITING;
	answer->status = parameters->status;
	answer->body_bytes = parameters->bytes;
	answer->chunked = parameters->chunked;
	answer->retry_after = parameters->retry_after;
	switch (parameters->fault) {
	case SLOW_FAULT_RESET:
		return reset_connection(connection);
	case SLOW_FAULT_CLOSE:
		return end_connection(connection);
	case SLOW_FAULT_GARBAGE:
		answer->is_garbage = true;
		answer->keep_alive = false;
		break;
	case SLOW_FAULT_STALL:
	case SLOW_FAULT_NONE:
		break;
	}
	return STEP_ON;
}

static enum step refuse_slow(struct slow_connection *connection)
{
	slow_counters_refuse(&connection->loop->counters, &connection->era);
	connection->parameters.fault = SLOW_FAULT_NONE;
	connection->answer.retry_after = 1;
	connection->state = SLOW_WRITING;
	if (set_text(connection, 429, "text/plain",
	             "rate: more requests a second than it allows\n"))
		return gone(connection);
	return STEP_ON;
}

static enum step answer_echo(struct slow_connection *connection)
{
	struct slow_echo *echo = &connection->echo;

	if (slow_echo_end(echo))
		return gone(connection);
	connection->answer.status = 200;
	connection->answer.content_type = "application/json";
	connection->answer.text = echo->text;
	connection->answer.body_bytes = echo->length;
	*echo = (struct slow_echo){0};
	connection->state = SLOW_WRITING;
	return STEP_ON;
}

/* Whether this request is one that is slow, or fails. */
static void apply_shares(struct slow_loop *loop, struct slow_parameters *parameters)
{
	if (slow_shares_take(&loop->slow, parameters->slow_percent))
		parameters->ms = parameters->slow_ms;
	if (slow_shares_take(&loop->failing, parameters->fail_percent))
		return;
	parameters->status = 200;
	parameters->fault = SLOW_FAULT_NONE;
	parameters->retry_after = 0;
}

/* The request has arrived as a whole. */
static enum step start_request(struct slow_connection *connection)
{
	struct slow_parameters *parameters = &connection->parameters;
	struct slow_loop *loop = connection->loop;
	int64_t delay_ns;

	if (connection->echo.text)
		return answer_echo(connection);
	if (!connection->is_slow) {
		connection->state = SLOW_WRITING;
		return STEP_ON;
	}
	if (parameters->rate > 0 &&
	    !slow_rates_take(&loop->rates, parameters->rate, deadline_now_ns()))
		return refuse_slow(connection);
	slow_counters_begin(&loop->counters, &connection->era);
	apply_shares(loop, parameters);
	delay_ns = INT64_C(1000000) * parameters->ms;
	if (parameters->jitter_ms > 0)
		delay_ns += random_ns(loop, UINT64_C(1000000) * parameters->jitter_ms);
	if (delay_ns == 0)
		return answer_slow(connection);
	connection->state = SLOW_WAITING;
	slow_connection_set_timer(connection, deadline_now_ns() + delay_ns);
	return STEP_ON;
}

static enum step on_request(struct slow_connection *connection, const struct slow_request *request)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (prepare_answer(connection, request))
		return gone(connection);
	if (request->unframed || request->content_bytes == 0)
		return start_request(connection);
	connection->state = SLOW_SKIPPING;
	if (!request->expects_continue || connection->input_start < connection->input_end)
		return STEP_ON;
	if (send(connection->fd, go_on, sizeof(go_on) - 1, MSG_NOSIGNAL) !=
	    (ssize_t)(sizeof(go_on) - 1))
		return gone(connection);
	return STEP_ON;
}

static enum step step_reading(struct slow_connection *connection, struct turn *turn)
{
	const char *head = connection->input + connection->input_start;
	struct slow_request request;
	ssize_t length;

	length = slow_request_head_length(head, connection->input_end - connection->input_start,
	                                  &connection->scanned);
	if (length == 0 && !connection->readable)
		return STEP_REST;
	if (length == 0)
		return slow_connection_read(connection) < 0 ? gone(connection) : STEP_ON;
	if (turn->requests-- == 0)
		return rest_until_next_round(connection);
	connection->scanned = 0;
	if (length < 0) {
		slow_request_refuse_head(&request, (int)length);
		return on_request(connection, &request);
	}
	slow_request_parse(&request, head, (size_t)length);
	if (request.route == SLOW_ROUTE_ECHO &&
	    slow_echo_begin(&connection->echo, head, (size_t)length))
		return gone(connection);
	slow_connection_consume(connection, (unsigned)length);
	return on_request(connection, &request);
}

/* @bytes of the request's body, which most routes have no use for. */
static int take_body(struct slow_connection *connection, const char *bytes, unsigned length)
{
	connection->skip_bytes -= length;
	return connection->echo.text ? slow_echo_add(&connection->echo, bytes, length) : 0;
}

static enum step step_skipping(struct slow_connection *connection, struct turn *turn)
{
	unsigned held = connection->input_end - connection->input_start;
	int discarded;

	if (held > connection->skip_bytes)
		held = connection->skip_bytes;
	if (take_body(connection, connection->input + connection->input_start, held))
		return gone(connection);
	slow_connection_consume(connection, held);
	if (connection->skip_bytes == 0)
		return start_request(connection);
	if (!connection->readable)
		return STEP_REST;
	if (turn->bytes <= 0)
		return rest_until_next_round(connection);
	discarded = slow_connection_discard(connection, connection->skip_bytes);
	if (discarded < 0 || take_body(connection, connection->loop->scratch, (unsigned)discarded))
		return gone(connection);
	turn->bytes -= discarded;
	return STEP_ON;
}

static enum step step_lingering(struct slow_connection *connection, struct turn *turn)
{
	int discarded;

	if (!connection->readable)
		return STEP_REST;
	discarded = slow_connection_discard(connection, SLOW_SCRATCH_BYTES);
	if (discarded > 0)
		turn->bytes -= discarded;
	/* A client that goes on sending has earned its reset. */
	return discarded < 0 || turn->bytes <= 0 ? gone(connection) : STEP_ON;
}

/* Where to stop writing: with fault=stall, in the middle of the body, or of the head without one.
 */
static uint64_t bytes_to_send(const struct slow_connection *connection, size_t head_bytes)
{
	uint64_t tail_bytes = slow_answer_tail_bytes(&connection->answer);

	if (!connection->is_slow || connection->parameters.fault != SLOW_FAULT_STALL)
		return head_bytes + tail_bytes;
	return tail_bytes > 0 ? head_bytes + tail_bytes / 2 : head_bytes - 2;
}

static enum step finish_answer(struct slow_connection *connection)
{
	free(connection->answer.text);
	connection->answer.text = NULL;
	if (connection->is_slow && connection->parameters.fault == SLOW_FAULT_STALL) {
		connection->state = SLOW_STALLED;
		return STEP_ON;
	}
	if (!connection->answer.keep_alive)
		return end_connection(connection);
	connection->state = SLOW_READING;
	return STEP_ON;
}

/* Leave out of the list what lies beyond the first @bytes. */
static void cut_pieces(struct slow_pieces *pieces, uint64_t bytes)
{
	for (unsigned i = 0; i < pieces->count; i++) {
		struct iovec *piece = &pieces->pieces[i];

		if (piece->iov_len > bytes)
			piece->iov_len = (size_t)bytes;
		bytes -= piece->iov_len;
	}
}

static enum step step_writing(struct slow_connection *connection, struct turn *turn)
{
	struct slow_answer *answer = &connection->answer;
	char head[SLOW_ANSWER_HEAD_BYTES];
	size_t head_bytes = slow_answer_head(answer, head);
	uint64_t end = bytes_to_send(connection, head_bytes);
	struct slow_pieces pieces;
	struct msghdr message = {.msg_iov = pieces.pieces};
	ssize_t written;

	while (connection->sent < end) {
		if (turn->bytes <= 0)
			return rest_until_next_round(connection);
		slow_answer_pieces(answer, head, head_bytes, connection->loop->pattern,
		                   connection->sent, &pieces);
		cut_pieces(&pieces, end - connection->sent);
		message.msg_iovlen = pieces.count;
		written = sendmsg(connection->fd, &message, MSG_NOSIGNAL);
		if (written < 0 && errno == EAGAIN)
			return STEP_REST;
		if (written < 0)
			return gone(connection);
		connection->sent += (uint64_t)written;
		turn->bytes -= (int)written;
	}
	return finish_answer(connection);
}

static enum step take_step(struct slow_connection *connection, struct turn *turn)
{
	switch (connection->state) {
	case SLOW_READING:
		return step_reading(connection, turn);
	case SLOW_SKIPPING:
		return step_skipping(connection, turn);
	case SLOW_WRITING:
		return step_writing(connection, turn);
	case SLOW_LINGERING:
		return step_lingering(connection, turn);
	case SLOW_WAITING:
	case SLOW_STALLED:
		return connection->peer_closed ? gone(connection) : STEP_REST;
	case SLOW_FREE:
		break;
	}
	assert(!"a step of a connection that is closed");
	return STEP_GONE;
}

static void run(struct slow_connection *connection)
{
	struct turn turn = {.requests = TURN_REQUESTS, .bytes = TURN_BYTES};

	while (take_step(connection, &turn) == STEP_ON)
		continue;
}

void slow_exchange_on_events(struct slow_connection *connection, uint32_t events)
{
	if (events & (EPOLLHUP | EPOLLERR)) {
		slow_connection_close(connection);
		return;
	}
	if (events & (EPOLLIN | EPOLLRDHUP))
		connection->readable = true;
	if (events & EPOLLRDHUP)
		connection->peer_closed = true;
	/* With a next round to come, more work now would be more than the turn's share. */
	if (timer_is_queued(&connection->timer) && connection->state != SLOW_WAITING &&
	    connection->state != SLOW_LINGERING)
		return;
	run(connection);
}

void slow_exchange_on_timer(struct slow_connection *connection)
{
	switch (connection->state) {
	case SLOW_LINGERING:
		slow_connection_close(connection);
		return;
	case SLOW_WAITING:
		if (answer_slow(connection) == STEP_GONE)
			return;
		break;
	default:
		break;
	}
	run(connection);
}
