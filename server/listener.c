#include "server/listener.h"

#include <errno.h>
#include <linux/filter.h>
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

int listener_address(int fd, struct listen_address *out)
{
	struct sockaddr_storage bound = {0};
	socklen_t bound_len = sizeof(bound);
	struct listen_address address;

	if (getsockname(fd, (struct sockaddr *)&bound, &bound_len) != 0)
		return -errno;
	if ((bound.ss_family != AF_INET && bound.ss_family != AF_INET6) ||
	    getnameinfo((struct sockaddr *)&bound, bound_len, address.host, sizeof(address.host),
	                NULL, 0, NI_NUMERICHOST) != 0)
		return -EINVAL;
	/* The port has the same place in both families. */
	address.port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
	*out = address;
	return 0;
}

int listener_ignore_new(int fd)
{
	enum { FLAGS_OFFSET = 13, SYN = 0x02, ACK = 0x10 };
	/* On a TCP socket a filter sees segments from their TCP header on. */
	struct sock_filter drop_syn[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS_OFFSET),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN | ACK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = {
		.len = sizeof(drop_syn) / sizeof(drop_syn[0]),
		.filter = drop_syn,
	};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
		return -errno;
	return 0;
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
