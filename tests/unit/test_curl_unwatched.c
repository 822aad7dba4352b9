#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients/curl_multi_service.h"
#include "clients/url_host.h"
#include "executors/carrier_ops.h"
#include "executors/task.h"
#include "tests/with_cmocka.h"

/* The curl client on a carrier that can watch nothing: the user's epoll watches are used up. */

enum { CALLS = 100 };

static int watch_nothing(struct carrier *carrier, struct carrier_fd *watch, uint32_t events)
{
	(void)carrier;
	(void)watch;
	return events ? -ENOSPC : 0;
}

static const struct carrier_ops no_watches = {.watch = watch_nothing};

static int listen_on(uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(fd, CALLS), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

/* Each has an outcome, though nothing will ever be reported about its socket, and what is kept on
 * the carrier can be closed. */
static void calls_whose_sockets_cannot_be_watched_fail_as_fd_limit(void **state)
{
	static const struct curl_settings settings = {.connect_timeout_ms = 60000};
	static struct task tasks[CALLS];
	struct http_call calls[CALLS];
	struct curl_transfer transfers[CALLS];
	struct carrier carrier;
	struct url_host host;
	uint16_t port;
	int listener = listen_on(&port);
	char url[64];

	(void)state;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	assert_int_equal(url_host_find(url, &host), 0);
	carrier_init(&carrier, &no_watches);
	for (int i = 0; i < CALLS; i++) {
		calls[i] = (struct http_call){.url = url, .max_reply_bytes = 100};
		transfers[i] = (struct curl_transfer){
			.task = &tasks[i],
			.call = &calls[i],
			.host = &host,
			.settings = &settings,
		};
		curl_multi_service_start(&carrier, &transfers[i]);
	}
	carrier_fire_timers(&carrier, deadline_now_ns());
	for (int i = 0; i < CALLS; i++) {
		assert_true(atomic_load(&transfers[i].done));
		assert_int_equal(transfers[i].failure, HTTP_FD_LIMIT);
	}
	carrier_finish(&carrier);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_whose_sockets_cannot_be_watched_fail_as_fd_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
