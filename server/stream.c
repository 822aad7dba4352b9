#include "server/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/reply.h"

enum { ROOM_BYTES = 64 * 1024 };

int stream_create(struct stream **out)
{
	struct stream *stream = malloc(sizeof(*stream));

	if (stream == NULL)
		return -ENOMEM;
	*stream = (struct stream){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.state = H2O_SEND_STATE_IN_PROGRESS,
	};
	text_buffer_init(&stream->written, SIZE_MAX);
	*out = stream;
	return 0;
}

static void destroy(struct stream *stream)
{
	text_buffer_finish(&stream->written);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

/* Not ended by a cancellation: who cancels closes the stream, too, or wants to hear more. */
static int await_room_locked(struct stream *stream, struct deadline deadline)
{
	const struct wait_site site = {.kind = WAIT_READER, .object = stream};
	int error = 0;

	stream->writer = task_current();
	while (!stream->is_closed && stream->waiting_bytes >= ROOM_BYTES && error == 0) {
		pthread_mutex_unlock(&stream->lock);
		error = task_park_masked_at(site, deadline);
		pthread_mutex_lock(&stream->lock);
	}
	stream->writer = NULL;
	if (stream->is_closed)
		return -ECANCELED;
	return stream->waiting_bytes < ROOM_BYTES ? 0 : error;
}

static int append_locked(struct stream *stream, const void *data, size_t len)
{
	text_buffer_append_bytes(&stream->written, data, len);
	if (stream->written.error)
		return -ENOMEM;
	stream->waiting_bytes += len;
	return 0;
}

int stream_write(struct stream *stream, const void *data, size_t len, struct deadline deadline,
                 bool *is_news)
{
	pthread_mutex_lock(&stream->lock);
	int error = await_room_locked(stream, deadline);

	if (error == 0)
		error = append_locked(stream, data, len);
	*is_news = error == 0 && !stream->is_announced;
	if (*is_news)
		stream->is_announced = true;
	pthread_mutex_unlock(&stream->lock);
	return error;
}

/* Under the lock: the writer takes it again before it leaves. */
static void wake_writer_locked(struct stream *stream)
{
	if (stream->writer != NULL)
		task_wake(stream->writer);
}

static void close_to_writes(struct stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->is_closed = true;
	wake_writer_locked(stream);
	pthread_mutex_unlock(&stream->lock);
}

/* All that has been written becomes what is sent; if that is nothing the task announces the next.
 */
static void take_written(struct stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	if (text_buffer_take(&stream->written, &stream->sending.base, &stream->sending.len) != 0)
		stream->sending =
			h2o_iovec_init(NULL, 0); /* a write has failed, and been told so */
	stream->is_announced = stream->sending.len > 0;
	pthread_mutex_unlock(&stream->lock);
}

/* h2o is done with what it was sending. */
static void forget_sent(struct stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->waiting_bytes -= stream->sending.len;
	if (stream->waiting_bytes < ROOM_BYTES)
		wake_writer_locked(stream);
	pthread_mutex_unlock(&stream->lock);
	free(stream->sending.base);
	stream->sending = h2o_iovec_init(NULL, 0);
	slow_readers_remove(&stream->reader);
}

/* The end of a connection is the end of a body that is not chunked (HTTP/1.0), so that only a
 * reset, which close(2) makes of it, tells a client that there should have been more. */
static void end_by_reset(h2o_req_t *request)
{
	const struct linger at_once = {.l_onoff = 1};
	h2o_socket_t *socket = request->conn->callbacks->get_socket(request->conn);

	(void)setsockopt(h2o_socket_get_fd(socket), SOL_SOCKET, SO_LINGER, &at_once,
	                 sizeof(at_once));
}

static bool is_chunked(const h2o_req_t *request)
{
	return h2o_find_header(&request->res.headers, H2O_TOKEN_TRANSFER_ENCODING, -1) >= 0;
}

/* What comes next, if h2o wants it and there is something. The last may end the request at once. */
static void send_next(struct stream *stream)
{
	if (stream->is_sending || stream->request == NULL)
		return;
	take_written(stream);
	if (stream->sending.len == 0 && stream->state == H2O_SEND_STATE_IN_PROGRESS)
		return;
	if (stream->state == H2O_SEND_STATE_ERROR && !is_chunked(stream->request))
		end_by_reset(stream->request);
	stream->is_sending = true;
	slow_readers_add(stream->readers, &stream->reader, stream->request);
	h2o_send(stream->request, &stream->sending, stream->sending.len > 0 ? 1 : 0, stream->state);
}

static void on_proceed(h2o_generator_t *generator, h2o_req_t *request)
{
	struct stream *stream = H2O_STRUCT_FROM_MEMBER(struct stream, generator, generator);

	(void)request;
	forget_sent(stream);
	stream->is_sending = false;
	send_next(stream);
}

/* h2o clears the request's pool: all has been written, or the connection has ended. */
static void on_dispose(void *data)
{
	struct stream *stream = *(struct stream **)data;

	stream->request = NULL;
	forget_sent(stream);
	/* Before the writer hears of it. */
	if (!stream->is_released)
		cancel_fire(stream->cancel, CANCEL_CLIENT_GONE);
	close_to_writes(stream);
	if (stream->is_released)
		destroy(stream);
}

/* What the kernel holds for a client that does not read is held for it as well. */
static void limit_unsent(h2o_req_t *request)
{
	const int bytes = ROOM_BYTES;
	h2o_socket_t *socket = request->conn->callbacks->get_socket(request->conn);

	(void)setsockopt(h2o_socket_get_fd(socket), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes,
	                 sizeof(bytes));
}

void stream_start(struct stream *stream, struct slow_readers *readers, struct cancel *cancel,
                  h2o_req_t *request, const struct response *response)
{
	struct stream **in_pool =
		h2o_mem_alloc_shared(&request->pool, sizeof(*in_pool), on_dispose);

	*in_pool = stream;
	stream->request = request;
	stream->readers = readers;
	stream->cancel = cancel;
	stream->generator = (h2o_generator_t){.proceed = on_proceed};
	limit_unsent(request);
	if (request->version < 0x101)
		request->http1_is_persistent = 0;
	reply_set_head(request, response, SIZE_MAX);
	h2o_start_response(request, &stream->generator);
}

void stream_news(struct stream *stream)
{
	send_next(stream);
}

void stream_end(struct stream *stream, bool is_whole)
{
	close_to_writes(stream);
	if (stream->state != H2O_SEND_STATE_IN_PROGRESS)
		return;
	stream->state = is_whole ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_ERROR;
	send_next(stream);
}

void stream_release(struct stream *stream)
{
	stream->is_released = true;
	if (stream->request == NULL)
		destroy(stream);
}
