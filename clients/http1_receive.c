#include "clients/http1_exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http1_fields.h"
#include "clients/http_fail.h"
#include "clients/http_reply_headers.h"

/* Room for the body so far and a NUL: exact if its length is known. */
static enum http_failure reserve(struct http1_exchange *exchange, size_t bytes)
{
	struct http_call *call = exchange->call;
	const struct http1_reply *reply = &exchange->reply;
	size_t capacity = 2 * exchange->capacity;
	char *memory;

	if (bytes <= exchange->capacity)
		return HTTP_OK;
	if (capacity > reply->max_body_bytes)
		capacity = reply->max_body_bytes + 1;
	if (capacity < bytes)
		capacity = bytes;
	if (reply->part == HTTP1_PART_COUNTED)
		capacity = reply->length + 1;
	if (!http_call_take_memory(call, capacity))
		return http_fail(call, HTTP_TOO_LARGE, "the replies of all calls are too large");
	memory = realloc(call->reply, capacity);
	if (!memory)
		return http_fail(call, HTTP_FD_LIMIT, "no memory for the reply");
	call->reply = memory;
	exchange->capacity = capacity;
	return HTTP_OK;
}

static enum http_failure keep(struct http1_exchange *exchange, const struct http1_piece *piece)
{
	struct http_call *call = exchange->call;
	size_t bytes = exchange->reply.body_bytes;
	enum http_failure failure;

	if (call->count_only || exchange->reply.part == HTTP1_PART_HEAD)
		return HTTP_OK;
	failure = reserve(exchange, bytes + 1);
	if (failure != HTTP_OK)
		return failure;
	if (piece->body_bytes > 0)
		memcpy(call->reply + bytes - piece->body_bytes, piece->body, piece->body_bytes);
	call->reply[bytes] = '\0';
	return HTTP_OK;
}

/* The head of the reply has just been read: its fields are in the buffer. */
static enum http_failure note_head(struct http1_exchange *exchange)
{
	const struct http1_reply *reply = &exchange->reply;
	const struct phr_header *fields = exchange->buffer->headers;
	struct http_call *call = exchange->call;

	if (http_asks_for_patience(reply->status))
		http1_fields_note_retry_after(fields, reply->field_count, call);
	if (call->keep_headers && http1_fields_keep(fields, reply->field_count, call) < 0)
		return http_fail(call, HTTP_FD_LIMIT, "no memory for the reply's headers");
	return HTTP_OK;
}

void http1_exchange_release_buffer(struct http1_exchange *exchange)
{
	http1_set_give_buffer(exchange->lease.set, exchange->buffer);
	exchange->buffer = NULL;
}

/* @got bytes more are in the buffer. */
static enum http_failure take(struct http1_exchange *exchange, size_t got,
                              enum http1_verdict *verdict)
{
	struct http1_buffer *buffer = exchange->buffer;
	bool had_no_head = exchange->reply.part == HTTP1_PART_HEAD;
	enum http_failure failure = HTTP_OK;
	struct http1_piece piece;

	exchange->call->replied = true;
	exchange->held += got;
	*verdict = http1_reply_read(&exchange->reply, buffer->bytes, exchange->held,
	                            buffer->headers, &piece);
	if (*verdict == HTTP1_MALFORMED)
		return http_fail(exchange->call, HTTP_PROTOCOL, exchange->reply.fault);
	if (*verdict == HTTP1_TOO_LARGE)
		return http_fail(exchange->call, HTTP_TOO_LARGE, "the reply is too large");
	if (had_no_head && exchange->reply.part != HTTP1_PART_HEAD)
		failure = note_head(exchange);
	if (failure == HTTP_OK)
		failure = keep(exchange, &piece);
	if (failure != HTTP_OK)
		return failure;
	exchange->held -= piece.used;
	if (*verdict == HTTP1_MORE && exchange->held > 0)
		memmove(buffer->bytes, buffer->bytes + piece.used, exchange->held);
	return HTTP_OK;
}

/* The connection has ended: with 0, or with a negative errno. */
static enum http_failure take_end(struct http1_exchange *exchange, ssize_t end,
                                  enum http1_verdict *verdict)
{
	if (end == 0 && http1_reply_ends(&exchange->reply)) {
		*verdict = HTTP1_WHOLE;
		return HTTP_OK;
	}
	exchange->is_stale = exchange->lease.is_reused && !exchange->call->replied;
	return http_fail(exchange->call, HTTP_RESET,
	                 end == 0 ? "the connection was closed before the reply was whole"
	                          : "the connection was reset");
}

static enum http_failure read_some(struct http1_exchange *exchange, enum http1_verdict *verdict)
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

/* An interim reply does not end the sending, an early final one does. What may be there to be read
 * goes first: no edge is going to tell of it while more is sent. */
static int wait_to_read(struct http1_exchange *exchange)
{
	struct http1_connection *connection = exchange->lease.connection;
	struct http1_sending *sending = &exchange->sending;

	if (sending->left > 0 && !sending->is_refused && !connection->may_have_more &&
	    exchange->reply.part == HTTP1_PART_HEAD) {
		int error = http1_connection_send(connection, sending, &exchange->wait);

		if (error < 0)
			return error;
	}
	return http1_connection_wait(connection, &exchange->wait);
}

enum http_failure http1_exchange_receive(struct http1_exchange *exchange)
{
	enum http1_verdict verdict = HTTP1_MORE;

	while (verdict == HTTP1_MORE) {
		int error = wait_to_read(exchange);
		enum http_failure failure;

		if (error < 0)
			return http1_exchange_fail(exchange, error);
		failure = read_some(exchange, &verdict);
		if (failure != HTTP_OK)
			return failure;
		if (exchange->held == 0)
			http1_exchange_release_buffer(exchange);
	}
	exchange->call->status = exchange->reply.status;
	exchange->call->reply_len = exchange->reply.body_bytes;
	return HTTP_OK;
}
