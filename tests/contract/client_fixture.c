#include "tests/contract/client_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/curl_client.h"
#include "clients/http1_client.h"

unsigned count_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

const char *client_under_test;

int run_over_client(int argc, char **argv, const struct CMUnitTest *cases, size_t count)
{
	if (argc != 3) {
		(void)fprintf(stderr, "usage: %s EXECUTOR CLIENT\n", argv[0]);
		return EXIT_FAILURE;
	}
	client_under_test = argv[2];
	return run_over_executor(2, argv, cases, count);
}

static int create_on(struct resolver *resolver, struct http_client **client)
{
	if (strcmp(client_under_test, "curl") == 0)
		return curl_client_create(
			&(struct curl_client_options){
				.connect_timeout_ms = CLIENT_CONNECT_TIMEOUT_MS,
				.resolver = resolver,
			},
			client);
	assert_string_equal(client_under_test, "http1");
	return http1_client_create(
		&(struct http1_client_options){
			.connect_timeout_ms = CLIENT_CONNECT_TIMEOUT_MS,
			.resolver = resolver,
		},
		client);
}

int create_client(const struct resolver_options *options, struct resolver **resolver,
                  struct http_client **client)
{
	struct resolver_options on_lanes = *options;
	int error;

	on_lanes.offload = lanes_for_tests();
	error = resolver_create(&on_lanes, resolver);
	if (error < 0)
		return error;
	error = create_on(*resolver, client);
	if (error < 0)
		resolver_destroy(*resolver);
	return error;
}

int client_setup(void **state, const struct raw_reply *replies)
{
	static struct client_fixture fixture;

	fixture.fds_before = count_fds();
	fixture.server = raw_server_start(replies);
	fixture.executor = start_executor(CLIENT_TASKS);
	assert_int_equal(
		create_client(&(struct resolver_options){0}, &fixture.resolver, &fixture.client),
		0);
	*state = &fixture;
	return 0;
}

int client_teardown(void **state)
{
	struct client_fixture *fixture = *state;

	executor_destroy(fixture->executor);
	http_client_destroy(fixture->client);
	resolver_destroy(fixture->resolver);
	raw_server_stop(fixture->server);
	assert_int_equal(count_fds(), fixture->fds_before);
	return 0;
}

const char *url_of(const struct client_fixture *fixture, const char *path)
{
	static char url[512];
	int length = snprintf(url, sizeof(url), "http://127.0.0.1:%u%s",
	                      (unsigned)raw_server_port(fixture->server), path);

	assert_in_range(length, 1, sizeof(url) - 1);
	return url;
}

struct timed_call {
	struct http_client *client;
	struct http_call *call;
	int64_t timeout_ms;
};

static int make_timed_call(void *arg)
{
	const struct timed_call *timed = arg;

	return (int)http_call(timed->client, timed->call, deadline_in_ms(timed->timeout_ms));
}

enum http_failure call_in_task(const struct client_fixture *fixture, struct http_call *call,
                               int64_t timeout_ms)
{
	struct timed_call timed = {fixture->client, call, timeout_ms};

	return (enum http_failure)run_in_task(fixture->executor, make_timed_call, &timed);
}

struct http_call get(const struct client_fixture *fixture, const char *path)
{
	struct http_call call = {
		.url = url_of(fixture, path),
		.max_reply_bytes = CLIENT_MAX_REPLY_BYTES,
	};

	(void)call_in_task(fixture, &call, 5000);
	return call;
}

void assert_get_fails(const struct client_fixture *fixture, const char *path,
                      enum http_failure failure)
{
	struct http_call call = get(fixture, path);

	assert_string_equal(http_failure_name(call.failure), http_failure_name(failure));
	assert_null(call.reply);
	assert_int_equal(call.status, 0);
	assert_non_null(call.reason);
	http_call_finish(&call);
}

void assert_get_answers(const struct client_fixture *fixture, const char *path, int status,
                        const char *reply)
{
	struct http_call call = get(fixture, path);

	assert_string_equal(http_failure_name(call.failure), "ok");
	assert_null(call.reason);
	assert_int_equal(call.status, status);
	assert_string_equal(call.reply, reply);
	assert_int_equal(call.reply_len, strlen(reply));
	http_call_finish(&call);
}
