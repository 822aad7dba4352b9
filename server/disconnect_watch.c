#include "server/disconnect_watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "server/log.h"

enum { ARM_AFTER_NS = 20 * 1000 * 1000, EVENTS_AT_ONCE = 64 };

static struct watched_connection *from_link(h2o_linklist_t *link)
{
	return H2O_STRUCT_FROM_MEMBER(struct watched_connection, link, link);
}

static void disarm(struct disconnect_watch *watch, struct watched_connection *connection)
{
	if (!connection->armed)
		return;
	connection->armed = false;
	if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL) != 0)
		log_event(LOG_SEVERITY_ERROR, "disconnect_watch", "operation=del errno=%d", errno);
}

/* Without a place in the epoll set a request is merely not cancelled early. */
static void arm(struct disconnect_watch *watch, struct watched_connection *connection)
{
	/* EPOLLHUP and EPOLLERR are always reported. */
	struct epoll_event event = {.events = watch->keep_half_closed ? 0 : EPOLLRDHUP,
	                            .data.ptr = connection};

	connection->armed = epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) == 0;
	if (!connection->armed)
		log_event(LOG_SEVERITY_WARNING, "disconnect_watch", "operation=add errno=%d",
		          errno);
}

static void on_events(h2o_socket_t *socket, const char *error)
{
	struct disconnect_watch *watch = socket->data;
	struct epoll_event events[EVENTS_AT_ONCE];
	int count = epoll_wait(watch->epoll_fd, events, EVENTS_AT_ONCE, 0);

	(void)error; /* h2o reads nothing from this socket */
	for (int i = 0; i < count; i++) {
		struct watched_connection *connection = events[i].data.ptr;

		/* Level-triggered: it would be reported for ever. */
		disarm(watch, connection);
		watch->gone(connection);
	}
}

int disconnect_watch_init(struct disconnect_watch *watch, h2o_loop_t *loop, bool keep_half_closed,
                          void (*gone)(struct watched_connection *connection))
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0)
		return -errno;
	*watch = (struct disconnect_watch){
		.epoll_fd = epoll_fd, .keep_half_closed = keep_half_closed, .gone = gone};
	h2o_linklist_init_anchor(&watch->fresh);
	h2o_linklist_init_anchor(&watch->settled);
	watch->socket = h2o_evloop_socket_create(loop, epoll_fd, H2O_SOCKET_FLAG_DONT_READ);
	watch->socket->data = watch;
	h2o_socket_read_start(watch->socket, on_events);
	return 0;
}

void disconnect_watch_finish(struct disconnect_watch *watch)
{
	h2o_socket_close(watch->socket);
}

void disconnect_watch_add(struct disconnect_watch *watch, struct watched_connection *connection,
                          int fd)
{
	*connection = (struct watched_connection){.fd = fd, .since_ns = deadline_now_ns()};
	h2o_linklist_insert(&watch->fresh, &connection->link);
}

void disconnect_watch_remove(struct disconnect_watch *watch, struct watched_connection *connection)
{
	disarm(watch, connection);
	if (h2o_linklist_is_linked(&connection->link))
		h2o_linklist_unlink(&connection->link);
}

int64_t disconnect_watch_due_ns(const struct disconnect_watch *watch)
{
	if (h2o_linklist_is_empty((h2o_linklist_t *)&watch->fresh))
		return INT64_MAX;
	return from_link(watch->fresh.next)->since_ns + ARM_AFTER_NS;
}

void disconnect_watch_run(struct disconnect_watch *watch, int64_t now_ns)
{
	while (disconnect_watch_due_ns(watch) <= now_ns) {
		struct watched_connection *connection = from_link(watch->fresh.next);

		h2o_linklist_unlink(&connection->link);
		h2o_linklist_insert(&watch->settled, &connection->link);
		arm(watch, connection);
	}
}
