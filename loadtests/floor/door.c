#include "loadtests/floor/door.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/decimal.h"
#include "loadtests/floor/round_text.h"

enum { REQUEST_BYTES_MAX = 4096, BACKLOG = 16 };

static int open_listener(const struct sockaddr_in *address)
{
	struct sockaddr_in bound = *address;
	socklen_t length = sizeof(bound);
	char host[INET_ADDRSTRLEN];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&bound, &length) < 0 ||
	    !inet_ntop(AF_INET, &bound.sin_addr, host, sizeof(host))) {
		int error = -errno;

		(void)close(fd);
		return error;
	}
	printf("listening http://%s:%u (floor)\n", host, ntohs(bound.sin_port));
	(void)fflush(stdout);
	return fd;
}

/* The number after @before at *@text, up to @after; *@text is then behind that. */
static bool take_number(const char **text, const char *before, char after, unsigned max,
                        unsigned *out)
{
	const char *digits = *text + strlen(before), *end;
	uint64_t number;

	if (strncmp(*text, before, strlen(before)) != 0)
		return false;
	end = strchr(digits, after);
	if (!end || !decimal_read(digits, (size_t)(end - digits), &number) || number > max)
		return false;
	*text = end;
	*out = (unsigned)number;
	return true;
}

/* Read up to the end of a request's head. False: the client is gone, or sends too much. */
static bool read_head(int fd, char request[REQUEST_BYTES_MAX])
{
	size_t length = 0;

	do {
		ssize_t got = read(fd, request + length, REQUEST_BYTES_MAX - 1 - length);

		if (got <= 0)
			return false;
		length += (size_t)got;
		request[length] = '\0';
	} while (!strstr(request, "\r\n\r\n"));
	return true;
}

static bool answer(int fd, const char *status, const char *body, size_t body_bytes)
{
	char reply[ROUND_TEXT_BYTES + 256];
	int length = snprintf(reply, sizeof(reply),
	                      "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
	                      "Content-Length: %zu\r\n\r\n%.*s",
	                      status, body_bytes, (int)body_bytes, body);

	assert(length > 0 && (size_t)length < sizeof(reply));
	return send(fd, reply, (size_t)length, MSG_NOSIGNAL) == length;
}

/* One request. False: it was the last of its connection. */
static bool serve_round(int fd, struct bare_client *client, unsigned calls_max)
{
	enum { DELAY_MS_MAX = 600000 };
	char request[REQUEST_BYTES_MAX], text[ROUND_TEXT_BYTES];
	const char *rest = request;
	unsigned calls, delay_ms;
	struct bare_round round;

	if (!read_head(fd, request))
		return false;
	if (!take_number(&rest, "GET /fanout?n=", '&', calls_max, &calls) || calls == 0 ||
	    !take_number(&rest, "&delay_ms=", ' ', DELAY_MS_MAX, &delay_ms)) {
		(void)answer(fd, "400 Bad Request", "{}", 2);
		return false;
	}
	bare_client_round(client, calls, delay_ms, &round);
	return answer(fd, "200 OK", text, round_text_write(&round, text));
}

int door_serve(const struct sockaddr_in *listen_on, struct bare_client *client, unsigned calls_max)
{
	int listener = open_listener(listen_on);

	if (listener < 0)
		return listener;
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			int error = -errno;

			(void)close(listener);
			return error;
		}
		while (serve_round(fd, client, calls_max))
			;
		(void)close(fd);
	}
}
