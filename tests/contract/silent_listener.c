#include "tests/contract/silent_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/with_cmocka.h"

void silent_listener_open(struct silent_listener *listener, const char *address, uint16_t port,
                          bool is_full)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	socklen_t length = sizeof(at);

	assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
	listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listener->fd >= 0);
	assert_int_equal(bind(listener->fd, (struct sockaddr *)&at, length), 0);
	assert_int_equal(listen(listener->fd, is_full ? 0 : 16), 0);
	assert_int_equal(getsockname(listener->fd, (struct sockaddr *)&at, &length), 0);
	listener->port = ntohs(at.sin_port);
	for (int i = 0; i < SILENT_FILLERS; i++) {
		listener->fillers[i] = -1;
		if (!is_full)
			continue;
		listener->fillers[i] =
			socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(listener->fillers[i], (struct sockaddr *)&at, length);
	}
}

void silent_listener_close(struct silent_listener *listener)
{
	for (int i = 0; i < SILENT_FILLERS; i++)
		if (listener->fillers[i] >= 0)
			assert_int_equal(close(listener->fillers[i]), 0);
	assert_int_equal(close(listener->fd), 0);
}
