#include "tests/integration/slow_endpoint_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "tests/with_cmocka.h"

struct slow_endpoint *endpoint;

int start_slow_endpoint(void **state)
{
	struct slow_endpoint_options options = {.host = "127.0.0.1", .backlog = 4096};

	(void)state;
	return slow_endpoint_start(&options, &endpoint);
}

int stop_slow_endpoint(void **state)
{
	(void)state;
	slow_endpoint_stop(endpoint);
	endpoint = NULL;
	return 0;
}

int client_open(void)
{
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
	return fd;
}

void client_connect_opened(int fd)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(slow_endpoint_port(endpoint)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

int client_connect(void)
{
	int fd = client_open();

	client_connect_opened(fd);
	return fd;
}

void client_send(int fd, const char *text)
{
	size_t length = strlen(text);

	assert_int_equal(send(fd, text, length, MSG_NOSIGNAL), length);
}

void client_get(int fd, const char *target)
{
	char text[256];
	int length = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);

	assert_in_range(length, 1, sizeof(text) - 1);
	client_send(fd, text);
}

void client_read_until(int fd, const char *end, char reply[REPLY_BYTES])
{
	size_t length = 0;
	size_t end_length = strlen(end);

	do {
		ssize_t got = recv(fd, reply + length, 1, 0);

		if (got != 1)
			fail_msg("wanted \"%s\" after \"%.*s\"", end, (int)length, reply);
		length++;
		assert_true(length < REPLY_BYTES);
	} while (length < end_length || memcmp(reply + length - end_length, end, end_length) != 0);
	reply[length] = '\0';
}

/* Read all until the endpoint ends the connection. Returns the bytes read; -errno after an error.
 */
ssize_t client_read_to_end(int fd, char reply[REPLY_BYTES])
{
	size_t length = 0;
	ssize_t got;

	while ((got = recv(fd, reply + length, REPLY_BYTES - 1 - length, 0)) > 0)
		length += (size_t)got;
	reply[length] = '\0';
	return got < 0 ? -errno : (ssize_t)length;
}

size_t client_read_reply(int fd, char head[REPLY_BYTES])
{
	const char *field;
	char body[4096];
	size_t length, left;

	client_read_until(fd, "\r\n\r\n", head);
	field = strstr(head, "Content-Length: ");
	assert_non_null(field);
	length = left = strtoul(field + strlen("Content-Length: "), NULL, 10);
	while (left > 0) {
		ssize_t got = recv(fd, body, left < sizeof(body) ? left : sizeof(body), 0);

		assert_true(got > 0);
		left -= (size_t)got;
	}
	return length;
}

void assert_starts_with(const char *text, const char *start)
{
	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("\"%s\" does not start with \"%s\"", text, start);
}

/* Each look is a round trip to the endpoint: no need to sleep between them. */
bool in_flight_becomes(const char *count)
{
	struct deadline deadline = deadline_in_ms(PATIENCE_MS);
	char wanted[64], reply[REPLY_BYTES];
	bool found = false;
	int fd = client_connect();

	assert_in_range(snprintf(wanted, sizeof(wanted), "{\"in_flight\":%s,", count), 1, 63);
	while (!found && deadline_remaining_ns(deadline) > 0) {
		client_get(fd, "/stats");
		client_read_until(fd, "}", reply);
		found = strstr(reply, wanted) != NULL;
	}
	close(fd);
	return found;
}

struct slow_endpoint_stats stats(void)
{
	struct slow_endpoint_stats now;

	slow_endpoint_stats(endpoint, &now);
	return now;
}
