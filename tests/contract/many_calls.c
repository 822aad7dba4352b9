#include "tests/contract/many_calls.h"

#include <stdlib.h>

#include "executors/scope.h"

struct caller {
	struct task task; /* first */
	struct http_client *client;
	struct http_call call;
};

static struct caller callers[MANY_CALLS_MOST];
static unsigned caller_count;

static int make_call(struct task *task)
{
	struct caller *caller = (struct caller *)task;

	(void)http_call(caller->client, &caller->call, task_deadline());
	return 0;
}

static int fork_callers(struct scope *scope, const struct many_calls *calls)
{
	int error = 0;

	for (unsigned i = 0; i < calls->count; i++) {
		callers[i] = (struct caller){
			.task = {.run = make_call, .name = "test call"},
			.client = calls->client,
			.call = calls->like,
		};
		if (!callers[i].call.url)
			callers[i].call.url = "http://upstream/";
		if (callers[i].call.max_reply_bytes == 0)
			callers[i].call.max_reply_bytes = 1000;
		error |= scope_fork(scope, &callers[i].task);
	}
	return error;
}

static int run(void *arg)
{
	const struct many_calls *calls = arg;
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.deadline = calls->deadline,
	                                           .max_parallel = calls->max_parallel});
	error = fork_callers(&scope, calls);
	if (calls->cancel_after_ns > 0) {
		error |= task_sleep_until(deadline_in_ns(calls->cancel_after_ns));
		scope_cancel(&scope, CANCEL_CLIENT_GONE);
	}
	(void)scope_join(&scope);
	return error;
}

void make_calls(struct executor *executor, const struct many_calls *calls)
{
	assert_true(calls->count <= MANY_CALLS_MOST);
	caller_count = calls->count;
	assert_int_equal(run_in_task(executor, run, (void *)calls), 0);
	for (unsigned i = 0; i < caller_count; i++)
		http_call_finish(&callers[i].call);
}

const struct http_call *made_call(unsigned index)
{
	assert_true(index < caller_count);
	return &callers[index].call;
}

unsigned count_failed(enum http_failure failure)
{
	unsigned count = 0;

	for (unsigned i = 0; i < caller_count; i++)
		count += callers[i].call.failure == failure;
	return count;
}

unsigned count_answered(int status)
{
	unsigned count = 0;

	for (unsigned i = 0; i < caller_count; i++)
		count += callers[i].call.failure == HTTP_OK && callers[i].call.status == status;
	return count;
}

unsigned count_attempts(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < caller_count; i++)
		count += callers[i].call.attempts;
	return count;
}
