#include "server/slow_endpoint.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "executors/epoll_wait_until.h"
#include "executors/thread_start.h"
#include "server/listener.h"
#include "server/slow_endpoint_connection.h"
#include "server/slow_endpoint_exchange.h"

#define ACCEPT_BACKOFF_NS INT64_C(20000000)

enum { EVENTS = 256, ACCEPT_BATCH = 256 };

struct slow_endpoint {
	struct slow_loop loop;
	struct timer accept_timer; /* accepting goes on then: after a full batch or a back-off */
	pthread_t thread;
	int listen_fd;
	int stop_fd; /* eventfd: stop */
	uint16_t port;
};

/*
 * The listener is edge-triggered and this empties it, unless fds run out: then
 * clients wait in the backlog until the back-off is over. Level-triggered, the
 * loop would spin (see accept(2) on EMFILE).
 */
static void accept_batch(struct slow_endpoint *endpoint)
{
	int64_t pause_ns = 0;
	int error;

	timer_heap_remove(&endpoint->loop.timers, &endpoint->accept_timer);
	for (int i = 0; i < ACCEPT_BATCH && pause_ns == 0; i++) {
		int fd = accept4(endpoint->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && errno == EAGAIN)
			return;
		/* One connection's own error, such as ECONNABORTED, is no reason to pause. */
		if (fd < 0 && errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
		    errno != ENOMEM)
			continue;
		if (fd < 0 || slow_connection_open(&endpoint->loop, fd))
			pause_ns = ACCEPT_BACKOFF_NS;
	}
	if (pause_ns > 0)
		slow_counters_backoff(&endpoint->loop.counters);
	endpoint->accept_timer.when_ns = deadline_now_ns() + pause_ns;
	error = timer_heap_add(&endpoint->loop.timers, &endpoint->accept_timer);
	/* create() has made room for it. */
	assert(error == 0);
}

/* Until something happens or the first timer is due, never less than that. */
static int wait_for_events(struct slow_endpoint *endpoint, struct epoll_event *events)
{
	const struct timer *first = timer_heap_first(&endpoint->loop.timers);
	struct deadline deadline = first ? (struct deadline){first->when_ns} : DEADLINE_NEVER;

	return epoll_wait_until(endpoint->loop.epoll_fd, events, EVENTS, deadline);
}

static void run_timers(struct slow_endpoint *endpoint)
{
	int64_t now_ns = deadline_now_ns();
	struct timer *timer;

	while ((timer = timer_heap_first(&endpoint->loop.timers)) && timer->when_ns <= now_ns) {
		timer_heap_remove(&endpoint->loop.timers, timer);
		if (timer == &endpoint->accept_timer)
			accept_batch(endpoint);
		else
			slow_exchange_on_timer((struct slow_connection *)timer);
	}
}

static void *run_loop(void *argument)
{
	struct slow_endpoint *endpoint = argument;
	struct epoll_event events[EVENTS];
	bool stops = false;

	/* Timers are late by up to 50 µs otherwise. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	(void)pthread_setname_np(pthread_self(), "slow-endpoint");
	while (!stops) {
		int count = wait_for_events(endpoint, events);

		for (int i = 0; i < count; i++) {
			void *subject = events[i].data.ptr;

			if (subject == &endpoint->stop_fd)
				stops = true;
			else if (subject == &endpoint->listen_fd)
				accept_batch(endpoint);
			else
				slow_exchange_on_events(subject, events[i].events);
		}
		run_timers(endpoint);
	}
	return NULL;
}

static int watch(struct slow_endpoint *endpoint, int *fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = fd};

	return epoll_ctl(endpoint->loop.epoll_fd, EPOLL_CTL_ADD, *fd, &event) ? -errno : 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

static void destroy(struct slow_endpoint *endpoint)
{
	slow_connections_finish(&endpoint->loop);
	timer_heap_finish(&endpoint->loop.timers);
	slow_counters_finish(&endpoint->loop.counters);
	close_if_open(endpoint->listen_fd);
	close_if_open(endpoint->stop_fd);
	close_if_open(endpoint->loop.epoll_fd);
	free(endpoint);
}

static int open_all(struct slow_endpoint *endpoint, const struct slow_endpoint_options *options)
{
	const int on = 1;
	int error = timer_heap_reserve(&endpoint->loop.timers, 1);

	if (error)
		return error;
	endpoint->loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (endpoint->loop.epoll_fd < 0)
		return -errno;
	endpoint->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (endpoint->stop_fd < 0)
		return -errno;
	endpoint->listen_fd =
		listener_open(options->host, options->port, options->backlog, &endpoint->port);
	if (endpoint->listen_fd < 0)
		return endpoint->listen_fd;
	/* On Linux, the sockets that it accepts inherit this. */
	if (setsockopt(endpoint->listen_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		return -errno;
	error = watch(endpoint, &endpoint->stop_fd);
	return error ? error : watch(endpoint, &endpoint->listen_fd);
}

static int create(const struct slow_endpoint_options *options, struct slow_endpoint **out)
{
	struct slow_endpoint *endpoint = calloc(1, sizeof(*endpoint));
	struct slow_loop *loop;
	int error;

	if (!endpoint)
		return -ENOMEM;
	loop = &endpoint->loop;
	loop->epoll_fd = endpoint->stop_fd = endpoint->listen_fd = -1;
	timer_heap_init(&loop->timers);
	slow_counters_init(&loop->counters);
	slow_pattern_fill(loop->pattern);
	/* Only jitter depends on it: the clock will do instead. */
	if (getrandom(&loop->random_state, sizeof(loop->random_state), GRND_NONBLOCK) < 0)
		loop->random_state = (uint64_t)deadline_now_ns();
	error = open_all(endpoint, options);
	if (error) {
		destroy(endpoint);
		return error;
	}
	*out = endpoint;
	return 0;
}

int slow_endpoint_start(const struct slow_endpoint_options *options, struct slow_endpoint **out)
{
	struct slow_endpoint *endpoint;
	int error;

	assert(options->host && options->backlog >= 1);
	error = create(options, &endpoint);
	if (error)
		return error;
	error = thread_start(&endpoint->thread, 0, run_loop, endpoint);
	if (error) {
		destroy(endpoint);
		return error;
	}
	*out = endpoint;
	return 0;
}

uint16_t slow_endpoint_port(const struct slow_endpoint *endpoint)
{
	return endpoint->port;
}

void slow_endpoint_stats(struct slow_endpoint *endpoint, struct slow_endpoint_stats *out)
{
	slow_counters_read(&endpoint->loop.counters, out);
}

void slow_endpoint_stop(struct slow_endpoint *endpoint)
{
	int error;

	if (!endpoint)
		return;
	error = eventfd_write(endpoint->stop_fd, 1);
	assert(error == 0);
	error = pthread_join(endpoint->thread, NULL);
	assert(error == 0);
	destroy(endpoint);
}
