#include "server/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "server/log.h"

enum {
	/* In one go, so that connections already open get their turn. */
	ACCEPT_AT_ONCE = 16,
	TURN_AWAY_AT_ONCE = 64,
	/* More than a backlog holds: who goes on connecting cannot keep a front from closing. */
	ACCEPT_BEFORE_CLOSE = 16384,
};

static const int64_t back_off_ns = 10 * INT64_C(1000000);
static const int64_t log_interval_ns = 10 * INT64_C(1000000000);

static void on_connection(h2o_socket_t *listener, const char *error);

static int open_reserve(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int accept_fd(struct acceptor *acceptor)
{
	return accept4(h2o_socket_get_fd(acceptor->listener), NULL, NULL,
	               SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static bool out_of_descriptors(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void turn_away(int fd)
{
	static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
				     "Content-Type: application/problem+json\r\n"
				     "Retry-After: 1\r\n"
				     "Connection: close\r\n"
				     "Content-Length: 79\r\n\r\n"
				     "{\"title\":\"Service Unavailable\",\"status\":503,"
				     "\"detail\":\"out of file descriptors\"}";
	char request[2048];

	/* What is left unread makes close() send a reset, which may overtake the answer. */
	(void)!recv(fd, request, sizeof(request), MSG_DONTWAIT);
	(void)!send(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void back_off(struct acceptor *acceptor)
{
	int64_t now_ns = deadline_now_ns();
	int fd = -1;

	if (now_ns >= acceptor->next_log_ns) {
		acceptor->next_log_ns = now_ns + log_interval_ns;
		log_event(LOG_SEVERITY_WARNING, "accept_back_off", "reason=fds");
	}
	for (int i = 0; i < TURN_AWAY_AT_ONCE && acceptor->reserve_fd >= 0; i++) {
		close(acceptor->reserve_fd);
		fd = accept_fd(acceptor);
		if (fd >= 0) {
			rejections_add(acceptor->rejections, REJECTED_FDS);
			turn_away(fd);
		}
		acceptor->reserve_fd = open_reserve();
		if (fd < 0)
			break;
	}
	h2o_socket_read_stop(acceptor->listener);
	acceptor->resume_ns = now_ns + back_off_ns;
}

/* False if there is none, or no descriptor for it. */
static bool accept_one(struct acceptor *acceptor)
{
	const int on = 1;
	int fd = accept_fd(acceptor);

	if (fd < 0) {
		int error = errno;

		if (out_of_descriptors(error))
			back_off(acceptor);
		/* An error of the connection itself (accept(2)) is not one of the listener. */
		return error != EAGAIN && !out_of_descriptors(error);
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	h2o_accept(&acceptor->accept,
	           h2o_evloop_socket_create(acceptor->accept.ctx->loop, fd,
	                                    H2O_SOCKET_FLAG_IS_ACCEPTED_CONNECTION));
	return true;
}

static void on_connection(h2o_socket_t *listener, const char *error)
{
	struct acceptor *acceptor = listener->data;
	int accepted = 0;

	if (error != NULL)
		return;
	while (accepted < ACCEPT_AT_ONCE && accept_one(acceptor))
		accepted++;
}

int acceptor_init(struct acceptor *acceptor, h2o_context_t *context, h2o_hostconf_t *host,
                  int listen_fd, struct rejections *rejections)
{
	int reserve_fd = open_reserve();

	if (reserve_fd < 0)
		return -errno;
	int fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0) {
		int error = -errno;

		close(reserve_fd);
		return error;
	}
	*acceptor = (struct acceptor){
		.accept = {.ctx = context, .hosts = acceptor->hosts},
		.hosts = {host, NULL},
		.listener = h2o_evloop_socket_create(context->loop, fd, H2O_SOCKET_FLAG_DONT_READ),
		.reserve_fd = reserve_fd,
		.resume_ns = INT64_MAX,
		.rejections = rejections,
	};
	acceptor->listener->data = acceptor;
	h2o_socket_read_start(acceptor->listener, on_connection);
	return 0;
}

int64_t acceptor_due_ns(const struct acceptor *acceptor)
{
	return acceptor->resume_ns;
}

void acceptor_run(struct acceptor *acceptor, int64_t now_ns)
{
	if (now_ns < acceptor->resume_ns)
		return;
	acceptor->resume_ns = INT64_MAX;
	if (acceptor->reserve_fd < 0)
		acceptor->reserve_fd = open_reserve();
	h2o_socket_read_start(acceptor->listener, on_connection);
}

void acceptor_close(struct acceptor *acceptor)
{
	if (acceptor->listener == NULL)
		return;
	acceptor->resume_ns = INT64_MAX;
	for (int i = 0; i < ACCEPT_BEFORE_CLOSE && accept_one(acceptor); i++)
		continue;
	h2o_socket_close(acceptor->listener);
	acceptor->listener = NULL;
	acceptor->resume_ns = INT64_MAX;
	if (acceptor->reserve_fd >= 0)
		close(acceptor->reserve_fd);
}
