#include "server/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_and_listen(int fd, const struct addrinfo *address, int backlog, uint16_t *out_port)
{
	const int on = 1;
	struct sockaddr_in6 bound = {0}; /* the port has the same place in both families */
	socklen_t bound_len = sizeof(bound);

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, backlog) != 0 ||
	    getsockname(fd, (struct sockaddr *)&bound, &bound_len) != 0)
		return -errno;
	*out_port = ntohs(bound.sin6_port);
	return 0;
}

static int open_address(const struct addrinfo *address, int backlog, uint16_t *out_port)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	int error = bind_and_listen(fd, address, backlog, out_port);

	if (error != 0) {
		close(fd);
		return error;
	}
	return fd;
}

static int resolve_error(int gai_error)
{
	switch (gai_error) {
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return errno == EMFILE || errno == ENFILE ? -errno : -EADDRNOTAVAIL;
	default:
		return -EADDRNOTAVAIL;
	}
}

int listener_open(const char *host, uint16_t port, int backlog, uint16_t *out_port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	                         .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *addresses;
	char service[sizeof("65535")];
	int fd = -EADDRNOTAVAIL;

	if (snprintf(service, sizeof(service), "%hu", port) < 0)
		return -EINVAL;
	int gai_error = getaddrinfo(host, service, &hints, &addresses);

	if (gai_error != 0)
		return resolve_error(gai_error);
	for (const struct addrinfo *address = addresses; address != NULL && fd < 0;
	     address = address->ai_next)
		fd = open_address(address, backlog, out_port);
	freeaddrinfo(addresses);
	return fd;
}

bool listener_is_loopback(int fd)
{
	struct sockaddr_storage bound = {0};
	socklen_t bound_len = sizeof(bound);

	if (getsockname(fd, (struct sockaddr *)&bound, &bound_len) != 0)
		return false;
	if (bound.ss_family == AF_INET)
		return ntohl(((struct sockaddr_in *)&bound)->sin_addr.s_addr) >> 24 == 127;
	return bound.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&bound)->sin6_addr);
}
