#include "server/front.h"

#include <assert.h>
#include <errno.h>
#include <h2o/http1.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "executors/thread_start.h"

static const int64_t drain_sweep_ns = 50 * INT64_C(1000000);
/* How long a connection that is new when the drain begins may take to say what it wants. */
static const int64_t first_request_ns = 250 * INT64_C(1000000);

enum { LISTENERS = 2, IDLE_WAIT_MS = 60 * 1000 };

struct front {
	struct dispatch_front dispatch;
	struct acceptor acceptors[LISTENERS]; /* listener NULL: not there, or closed */
	struct front_options options;
	pthread_t thread;

	atomic_int wanted_phase; /* enum front_phase; the loop is woken after it is stored */
	enum front_phase phase;
	atomic_uint asked, answered; /* counts of front_ask(); written by its caller, by the loop */
	int64_t sweep_due_ns;        /* CLOCK_MONOTONIC; INT64_MAX before draining */
	int64_t drain_ns;            /* likewise; when it began */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	int start_error; /* lock; 1: not known yet */
	bool stopping;   /* lock */
};

static int open_acceptors(struct front *front)
{
	for (size_t i = 0; i < LISTENERS; i++) {
		if (front->options.hosts[i] == NULL)
			continue;
		int error = acceptor_init(&front->acceptors[i], &front->dispatch.context,
		                          front->options.hosts[i], front->options.listen_fds[i],
		                          front->options.rejections);

		if (error != 0)
			return error;
	}
	return 0;
}

static void close_acceptors(struct front *front)
{
	for (size_t i = 0; i < LISTENERS; i++)
		acceptor_close(&front->acceptors[i]);
}

static void dispose_loop(struct front *front)
{
	h2o_context_t *context = &front->dispatch.context;
	h2o_multithread_queue_t *queue = context->queue;
	h2o_loop_t *loop = context->loop;

	h2o_context_dispose(context);
	/* h2o_multithread_destroy_queue() leaves it to libuv, which is not in use here. */
	free(queue);
	h2o_evloop_destroy(loop);
}

static int open_loop(struct front *front)
{
	struct dispatch_front *dispatch = &front->dispatch;

	h2o_context_init(&dispatch->context, h2o_evloop_create(), front->options.http);
	slow_readers_init(&dispatch->readers);
	int error = exchange_set_init(&dispatch->exchanges, &dispatch->context, &dispatch->readers,
	                              &front->options.exchanges);

	if (error != 0) {
		dispose_loop(front);
		return error;
	}
	error = open_acceptors(front);
	if (error != 0) {
		close_acceptors(front);
		exchange_set_finish(&dispatch->exchanges);
		dispose_loop(front);
	}
	return error;
}

static int ms_until(int64_t due_ns, int64_t now_ns)
{
	int64_t ms = (due_ns - now_ns + 999999) / 1000000;

	if (due_ns <= now_ns)
		return 0;
	return ms < IDLE_WAIT_MS ? (int)ms : IDLE_WAIT_MS;
}

static int64_t next_due_ns(const struct front *front)
{
	int64_t dues[] = {
		exchange_set_due_ns(&front->dispatch.exchanges),
		slow_readers_due_ns(&front->dispatch.readers),
		acceptor_due_ns(&front->acceptors[0]),
		acceptor_due_ns(&front->acceptors[1]),
		front->sweep_due_ns,
	};
	int64_t next_ns = INT64_MAX;

	for (size_t i = 0; i < sizeof(dues) / sizeof(dues[0]); i++)
		if (dues[i] < next_ns)
			next_ns = dues[i];
	return next_ns;
}

/* Close a connection on which no request is being sent, received or handled. h2o sees the end
 * of its input and frees it. With *@spares_new one is left alone that has not had an answer: it may
 * just have been accepted, and its request be on the way. */
static int close_if_idle(h2o_req_t *request, void *spares_new)
{
	h2o_socket_t *socket = request->conn->callbacks->get_socket(request->conn);
	int fd = h2o_socket_get_fd(socket);
	int unread_bytes = 0;

	if (*(bool *)spares_new && socket->bytes_written == 0)
		return 0;
	if (h2o_socket_is_reading(socket) && socket->input->size == 0 &&
	    ioctl(fd, FIONREAD, &unread_bytes) == 0 && unread_bytes == 0)
		(void)shutdown(fd, SHUT_RD);
	return 0;
}

static int cut(h2o_req_t *request, void *data)
{
	(void)data;
	(void)shutdown(h2o_socket_get_fd(request->conn->callbacks->get_socket(request->conn)),
	               SHUT_RDWR);
	return 0;
}

static void sweep_connections(struct front *front, int64_t now_ns)
{
	bool spares_new = now_ns < front->drain_ns + first_request_ns;

	if (now_ns < front->sweep_due_ns)
		return;
	front->sweep_due_ns = now_ns + drain_sweep_ns;
	(void)H2O_HTTP1_CALLBACKS.foreach_request(
		&front->dispatch.context, front->phase >= FRONT_ABANDONING ? cut : close_if_idle,
		&spares_new);
}

static void enter_phase(struct front *front, enum front_phase phase)
{
	struct exchange_set *exchanges = &front->dispatch.exchanges;

	front->phase = phase;
	switch (phase) {
	case FRONT_SERVING:
		break;
	case FRONT_CLOSING_CONNECTIONS:
		exchanges->closing = true;
		/* All that h2o_context_request_shutdown() does for HTTP/1; for HTTP/2 it also
		 * starts a timer, which the context cannot be disposed of with. */
		front->dispatch.context.shutdown_requested = 1;
		break;
	case FRONT_DRAINING:
		close_acceptors(front);
		front->sweep_due_ns = 0;
		front->drain_ns = deadline_now_ns();
		break;
	case FRONT_CANCELING:
		exchange_set_cancel(exchanges);
		break;
	case FRONT_ABANDONING:
		exchange_set_abandon(exchanges);
		/* The answers get a moment to leave before the connections are cut. */
		front->sweep_due_ns = deadline_now_ns() + drain_sweep_ns;
		break;
	}
}

/* True if something was done that h2o must look at before it waits. */
static bool run_due(struct front *front)
{
	enum front_phase wanted = (enum front_phase)atomic_load(&front->wanted_phase);
	int64_t now_ns = deadline_now_ns();
	bool due = next_due_ns(front) <= now_ns || front->phase < wanted;

	atomic_store_explicit(&front->answered, atomic_load(&front->asked), memory_order_relaxed);
	while (front->phase < wanted)
		enter_phase(front, front->phase + 1);
	exchange_set_run(&front->dispatch.exchanges, now_ns);
	slow_readers_sweep(&front->dispatch.readers, now_ns);
	acceptor_run(&front->acceptors[0], now_ns);
	acceptor_run(&front->acceptors[1], now_ns);
	sweep_connections(front, now_ns);
	return due;
}

static bool is_drained(const struct front *front)
{
	return front->phase >= FRONT_DRAINING && front->dispatch.exchanges.out == 0 &&
	       h2o_linklist_is_empty((h2o_linklist_t *)&front->dispatch.context.http1._conns);
}

static void serve(struct front *front)
{
	while (!is_drained(front)) {
		bool due = run_due(front);
		int wait_ms = due ? 0 : ms_until(next_due_ns(front), deadline_now_ns());

		/* -1 is EINTR (any signal that has a handler): carry on. */
		(void)h2o_evloop_run(front->dispatch.context.loop, wait_ms);
	}
}

static void report_start(struct front *front, int error)
{
	pthread_mutex_lock(&front->lock);
	front->start_error = error;
	pthread_cond_signal(&front->changed);
	pthread_mutex_unlock(&front->lock);
}

static void await_stop(struct front *front)
{
	pthread_mutex_lock(&front->lock);
	while (!front->stopping)
		pthread_cond_wait(&front->changed, &front->lock);
	pthread_mutex_unlock(&front->lock);
}

static void *front_main(void *argument)
{
	struct front *front = argument;
	int error = open_loop(front);

	report_start(front, error);
	if (error != 0)
		return NULL;
	serve(front);
	(void)eventfd_write(front->options.drained_fd, 1);
	await_stop(front);
	exchange_set_finish(&front->dispatch.exchanges);
	dispose_loop(front);
	return NULL;
}

static void front_free(struct front *front)
{
	pthread_cond_destroy(&front->changed);
	pthread_mutex_destroy(&front->lock);
	free(front);
}

static int await_start(struct front *front)
{
	pthread_mutex_lock(&front->lock);
	while (front->start_error > 0)
		pthread_cond_wait(&front->changed, &front->lock);
	int error = front->start_error;

	pthread_mutex_unlock(&front->lock);
	return error;
}

int front_start(const struct front_options *options, unsigned index, struct front **out)
{
	struct front *front = calloc(1, sizeof(*front));
	char name[16];

	if (front == NULL)
		return -ENOMEM;
	front->options = *options;
	front->sweep_due_ns = INT64_MAX;
	front->acceptors[0].resume_ns = front->acceptors[1].resume_ns = INT64_MAX;
	front->start_error = 1;
	front->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	front->changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	int error = thread_start(&front->thread, 0, front_main, front);

	if (error == 0) {
		error = await_start(front);
		if (error != 0)
			(void)pthread_join(front->thread, NULL);
	}
	if (error != 0) {
		front_free(front);
		return error;
	}
	(void)snprintf(name, sizeof(name), "front-%u", index);
	(void)pthread_setname_np(front->thread, name);
	*out = front;
	return 0;
}

void front_advance(struct front *front, enum front_phase phase)
{
	assert(phase >= (enum front_phase)atomic_load(&front->wanted_phase));
	atomic_store(&front->wanted_phase, (int)phase);
	h2o_multithread_send_message(&front->dispatch.exchanges.home, NULL);
}

void front_ask(struct front *front)
{
	atomic_fetch_add(&front->asked, 1);
	h2o_multithread_send_message(&front->dispatch.exchanges.home, NULL);
}

bool front_has_answered(const struct front *front)
{
	return atomic_load(&front->answered) == atomic_load(&front->asked);
}

void front_stop(struct front *front)
{
	if (front == NULL)
		return;
	pthread_mutex_lock(&front->lock);
	front->stopping = true;
	pthread_cond_signal(&front->changed);
	pthread_mutex_unlock(&front->lock);
	(void)pthread_join(front->thread, NULL);
	front_free(front);
}
