#include "handlers/fanout_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "handlers/burn_cpu.h"

enum { FORKS_BETWEEN_YIELDS = 1000 };

const char *fanout_outcome_name(unsigned outcome)
{
	return outcome == FANOUT_REJECTED ? "rejected"
	                                  : http_failure_name((enum http_failure)outcome);
}

uint64_t fanout_calls_bytes(size_t count)
{
	return sizeof(struct fanout_calls) + (uint64_t)count * sizeof(struct fanout_call);
}

struct fanout_calls *fanout_calls_create(size_t count)
{
	struct fanout_calls *calls = calloc(1, (size_t)fanout_calls_bytes(count));

	if (!calls)
		return NULL;
	calls->count = count;
	for (size_t i = 0; i < count; i++)
		calls->each[i].calls = calls;
	return calls;
}

static void count_start(struct fanout_calls *calls)
{
	unsigned now = atomic_fetch_add_explicit(&calls->in_flight, 1, memory_order_relaxed) + 1;
	unsigned peak = atomic_load_explicit(&calls->peak_in_flight, memory_order_relaxed);

	/* A failed exchange loads what another call has put there: try again only if less. */
	while (now > peak &&
	       !atomic_compare_exchange_weak_explicit(&calls->peak_in_flight, &peak, now,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
}

static void count_end(struct fanout_calls *calls)
{
	atomic_fetch_sub_explicit(&calls->in_flight, 1, memory_order_relaxed);
}

static void record(struct fanout_call *call, const struct http_call *made)
{
	call->made = true;
	call->outcome = made->failure;
	call->elapsed_ns = made->elapsed_ns;
	if (made->failure != HTTP_OK)
		return;
	if (made->status < 0 || made->status >= FANOUT_STATUS_LIMIT) {
		call->outcome = HTTP_PROTOCOL;
		return;
	}
	call->status = made->status;
	call->reply_len = made->reply_len;
}

static int run_call(struct task *task)
{
	struct fanout_call *call =
		(struct fanout_call *)((char *)task - offsetof(struct fanout_call, task));
	struct fanout_calls *calls = call->calls;
	struct http_call made = {
		.url = calls->url,
		.max_reply_bytes = calls->max_reply_bytes,
		.count_only = true,
	};
	struct deadline timeout = deadline_in_ms(calls->timeout_ms);

	count_start(calls);
	(void)http_call(calls->client, &made, deadline_earlier(timeout, task_deadline()));
	count_end(calls);
	record(call, &made);
	http_call_finish(&made);
	if (calls->cpu_us > 0)
		burn_cpu(calls->cpu_us);
	return 0;
}

/* The outcome of a call whose task never ran. @joined is what scope_join() said. */
static unsigned outcome_of_unmade(const struct fanout_call *call, int joined)
{
	if (call->task.result == -EAGAIN)
		return FANOUT_REJECTED;
	return joined == -ETIMEDOUT ? HTTP_TIMEOUT : HTTP_CANCELED;
}

void fanout_calls_make(struct fanout_calls *calls, const struct scope_options *options)
{
	struct scope scope;
	int joined;

	scope_open(&scope, options);
	for (size_t i = 0; i < calls->count; i++) {
		struct task *child = &calls->each[i].task;
		int refused;

		if (i % FORKS_BETWEEN_YIELDS == FORKS_BETWEEN_YIELDS - 1)
			task_yield();
		child->run = run_call;
		child->name = "fanout call";
		refused = scope_fork(&scope, child);
		if (refused)
			child->result = refused;
	}
	joined = scope_join(&scope);
	for (size_t i = 0; i < calls->count; i++)
		if (!calls->each[i].made)
			calls->each[i].outcome = outcome_of_unmade(&calls->each[i], joined);
}
