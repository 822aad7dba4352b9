#include "server/given_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/decimal.h"
#include "server/environment.h"

/* Where they begin: SD_LISTEN_FDS_START. */
enum { FIRST_FD = 3, GIVEN_MAX = 64 };

static int explain(char text[GIVEN_SOCKETS_ERROR_BYTES], const char *what)
{
	if (snprintf(text, GIVEN_SOCKETS_ERROR_BYTES, "LISTEN_FDS: %s", what) < 0)
		text[0] = '\0';
	return -EINVAL;
}

/* Of the name that @names begins with. */
static bool is_called(const char *names, const char *name)
{
	size_t length = strcspn(names, ":");

	return length == strlen(name) && memcmp(names, name, length) == 0;
}

static bool is_tcp_listener(int fd)
{
	int is_listening = 0;
	socklen_t length = sizeof(is_listening);
	struct sockaddr_storage bound = {0};
	socklen_t bound_len = sizeof(bound);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &length) == 0 &&
	       is_listening && getsockname(fd, (struct sockaddr *)&bound, &bound_len) == 0 &&
	       (bound.ss_family == AF_INET || bound.ss_family == AF_INET6);
}

/* As listener_open() leaves one. */
static bool make_ours(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	       fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static int take(struct given_sockets *sockets, int fd, const char *name, bool is_alone,
                char error_text[GIVEN_SOCKETS_ERROR_BYTES])
{
	bool is_admin = is_called(name, "admin-listen");
	int *place = is_admin ? &sockets->admin_fd : &sockets->listen_fd;

	if (!is_admin && !is_alone && !is_called(name, "listen"))
		return explain(error_text, "with several sockets LISTEN_FDNAMES calls each "
		                           "listen or admin-listen");
	if (*place >= 0)
		return explain(error_text, "two sockets have one name");
	if (!is_tcp_listener(fd) || !make_ours(fd))
		return explain(error_text, "not all are TCP sockets that listen");
	*place = fd;
	return 0;
}

/* How many there are for this process; -1 if that is not to be read. */
static int count_given(char *const environment[])
{
	const char *count_text = environment_find(environment, "LISTEN_FDS");
	const char *pid_text = environment_find(environment, "LISTEN_PID");
	uint64_t count, pid;

	if (count_text == NULL || pid_text == NULL)
		return 0;
	if (!decimal_read(pid_text, strlen(pid_text), &pid))
		return -1;
	if (pid != (uint64_t)getpid())
		return 0; /* they were a parent's */
	if (!decimal_read(count_text, strlen(count_text), &count) || count > GIVEN_MAX)
		return -1;
	return (int)count;
}

int given_sockets_find(char *const environment[], struct given_sockets *out,
                       char error[GIVEN_SOCKETS_ERROR_BYTES])
{
	const char *names = environment_find(environment, "LISTEN_FDNAMES");
	int count = count_given(environment);

	*out = (struct given_sockets){.listen_fd = -1, .admin_fd = -1};
	if (count < 0)
		return explain(error, "not a number of sockets");
	if (names == NULL)
		names = "";
	for (int i = 0; i < count; i++) {
		int result = take(out, FIRST_FD + i, names, count == 1, error);

		if (result != 0)
			return result;
		names += strcspn(names, ":");
		names += *names == ':';
	}
	return 0;
}
