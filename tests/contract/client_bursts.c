#include "tests/contract/client_bursts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executors/scope.h"

struct child_call {
	struct task task;
	struct http_client *client;
	struct http_call call;
};

struct burst {
	struct http_client *client;
	const char *url;
	unsigned count, ok;
};

static int child_call_run(struct task *task)
{
	struct child_call *self = (struct child_call *)task;

	return (int)http_call(self->client, &self->call, DEADLINE_NEVER);
}

static int make_burst(void *arg)
{
	struct burst *burst = arg;
	struct child_call *children = calloc(burst->count, sizeof(*children));
	struct scope scope;
	int error;

	if (!children)
		return -ENOMEM;
	scope_open(&scope, &(struct scope_options){.deadline = deadline_in_ms(30000)});
	for (unsigned i = 0; i < burst->count; i++) {
		children[i] = (struct child_call){
			.task.run = child_call_run,
			.client = burst->client,
			.call = {.url = burst->url, .max_reply_bytes = 100, .count_only = true},
		};
		(void)scope_fork(&scope, &children[i].task);
	}
	error = scope_join(&scope);
	for (unsigned i = 0; i < burst->count; i++)
		burst->ok += children[i].call.status == 200;
	free(children);
	return error;
}

struct slow_endpoint_stats make_two_bursts(const struct client_fixture *fixture, unsigned count)
{
	struct executor_options options = options_for(count + 1);
	struct slow_endpoint_stats stats;
	struct slow_endpoint *endpoint;
	struct executor *executor;
	char url[64];

	if (strcmp(executor_under_test, "coroutine") == 0)
		options.threads = 1;
	executor = start_executor_with(&options);
	assert_int_equal(slow_endpoint_start(&(struct slow_endpoint_options){.host = "127.0.0.1",
	                                                                     .backlog = 1024},
	                                     &endpoint),
	                 0);
	assert_in_range(snprintf(url, sizeof(url), "http://127.0.0.1:%u/slow?ms=500",
	                         (unsigned)slow_endpoint_port(endpoint)),
	                1, sizeof(url) - 1);
	for (int i = 0; i < 2; i++) {
		struct burst burst = {.client = fixture->client, .url = url, .count = count};

		assert_int_equal(run_in_task(executor, make_burst, &burst), 0);
		assert_int_equal(burst.ok, count);
	}
	slow_endpoint_stats(endpoint, &stats);
	executor_destroy(executor);
	slow_endpoint_stop(endpoint);
	return stats;
}
