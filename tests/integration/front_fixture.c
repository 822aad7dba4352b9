#include "tests/integration/front_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/deadline.h"
#include "server/listener.h"
#include "tests/with_cmocka.h"

void fronts_under_test_start(struct fronts_under_test *test, struct executor *executor,
                             struct handler *handlers, size_t count, int64_t deadline_ms)
{
	*test = (struct fronts_under_test){
		.executors = {.executors = {executor}, .count = 1, .preferred = executor}};
	struct fronts_options options = {
		.count = 2,
		.admin_fd = -1,
		.site = &test->site,
		.max_body_bytes = 1024 * 1024,
		.exchanges = {.deadline_ms = deadline_ms,
	                      .max_tasks = 100,
	                      .executors = &test->executors,
	                      .rejections = &test->rejections},
		.rejections = &test->rejections,
	};

	for (size_t i = 0; i < count; i++)
		site_add(&test->site, &handlers[i]);
	options.listen_fd = listener_open("127.0.0.1", 0, 16, &test->port);
	assert_true(options.listen_fd >= 0);
	assert_int_equal(fronts_start(&test->fronts, &options), 0);
}

void fronts_under_test_await_drained(struct fronts_under_test *test)
{
	struct pollfd news = {.fd = test->fronts.drained_fd, .events = POLLIN};
	struct deadline deadline = deadline_in_ms(PATIENCE_MS);

	while (!fronts_are_drained(&test->fronts)) {
		assert_int_not_equal(deadline_remaining_ns(deadline), 0);
		poll(&news, 1, deadline_remaining_ms(deadline));
	}
}

void fronts_under_test_stop(struct fronts_under_test *test)
{
	if (test->fronts.fronts) {
		fronts_advance(&test->fronts, FRONT_ABANDONING);
		fronts_under_test_await_drained(test);
	}
	executor_set_destroy(&test->executors);
	fronts_stop(&test->fronts);
}

int connected_to(const struct fronts_under_test *test)
{
	struct timeval timeout = {.tv_sec = PATIENCE_MS / 1000};
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(test->port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

void send_get(int fd, const char *path)
{
	char request[256];

	assert_true(snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path) >
	            0);
	send_text(fd, request);
}

void read_until(int fd, const char *end, char reply[REPLY_BYTES])
{
	size_t length = 0;

	do {
		ssize_t bytes = read(fd, reply + length, REPLY_BYTES - 1 - length);

		assert_true(bytes > 0);
		length += (size_t)bytes;
		reply[length] = '\0';
	} while (length < strlen(end) || strcmp(reply + length - strlen(end), end) != 0);
}

char *read_to_end(int fd, size_t *length, int *error)
{
	char *text = NULL;
	size_t capacity = 0;
	ssize_t bytes;

	*length = 0;
	do {
		if (capacity - *length < 65536) {
			capacity = 2 * capacity + 65536;
			text = realloc(text, capacity + 1);
			assert_non_null(text);
		}
		bytes = read(fd, text + *length, capacity - *length);
		*length += bytes > 0 ? (size_t)bytes : 0;
	} while (bytes > 0);
	*error = bytes < 0 ? errno : 0;
	assert_int_not_equal(*error, EAGAIN);
	text[*length] = '\0';
	return text;
}
