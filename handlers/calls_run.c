#include "handlers/calls_run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "executors/scope.h"
#include "handlers/calls_judge.h"
#include "handlers/calls_window.h"

enum { CALLS_BETWEEN_YIELDS = 1000 };

/* Places in the list of calls, first in, first out; each comes at most once. */
struct queue {
	uint32_t *places;
	size_t first, end;
};

struct run {
	struct calls_call *calls;
	size_t count;
	struct calls_graph *graph;
	struct calls_writer *writer;
	struct scope scope;
	bool is_open;  /* @scope has not been joined */
	bool collects; /* children are taken as they return; else once all have */
	struct calls_window window;
	struct queue ready;   /* nothing they wait for is left */
	struct queue settled; /* and nobody has been told of them yet */
	size_t out;           /* forked, and not handed out yet */
	struct calls_judge judge;
	int error; /* of the writer */
};

static void push(struct queue *queue, size_t place)
{
	queue->places[queue->end++] = (uint32_t)place;
}

/* The place at the head; there is one. */
static size_t pop(struct queue *queue)
{
	assert(queue->first < queue->end);
	return queue->places[queue->first++];
}

static void settle(struct run *run, size_t place, unsigned outcome)
{
	struct calls_call *call = &run->calls[place];

	call->outcome = outcome;
	call->is_settled = true;
	push(&run->settled, place);
}

static void free_dependents(struct run *run, size_t place)
{
	const struct calls_graph *graph = run->graph;
	bool is_success = calls_call_is_success(&run->calls[place]);

	if (!graph->waits_for)
		return;
	for (uint32_t i = graph->first[place]; i < graph->first[place + 1]; i++) {
		uint32_t dependent = graph->dependents[i];

		if (run->calls[dependent].is_settled)
			continue;
		if (!is_success)
			settle(run, dependent, CALLS_DEPENDENCY_FAILED);
		else if (--graph->waits_for[dependent] == 0)
			push(&run->ready, dependent);
	}
}

static void write_result(struct run *run, struct calls_call *call)
{
	if (run->error)
		return;
	run->error = calls_writer_result(run->writer, call);
	if (run->error && run->is_open)
		scope_cancel(&run->scope, CANCEL_CLIENT_GONE);
}

/* Tell everybody of what is settled, and of what that settles in turn. */
static void tell(struct run *run)
{
	while (run->settled.first < run->settled.end) {
		size_t place = pop(&run->settled);
		struct calls_call *call = &run->calls[place];

		if (!call->has_run && run->is_open)
			calls_judge_tell(&run->judge, false);
		free_dependents(run, place);
		calls_window_add(&run->window, call->made.memory_taken);
		write_result(run, call);
	}
}

/* As many of those that are ready as may be out. */
static void fork_ready(struct run *run)
{
	while (run->ready.first < run->ready.end && run->out < calls_window_limit(&run->window)) {
		size_t place = pop(&run->ready);
		struct calls_call *call = &run->calls[place];
		int error;

		if (run->ready.first % CALLS_BETWEEN_YIELDS == 0)
			task_yield();
		call->judge = &run->judge;
		call->task.run = calls_call_make;
		call->task.name = "fanout call";
		error = scope_fork(&run->scope, &call->task);
		if (error == -ECANCELED)
			break; /* as the rest will be, once all that are out are back */
		if (error) {
			settle(run, place, BATCH_REJECTED);
			tell(run);
		} else {
			run->out++;
		}
	}
}

/* The outcome of what was never made because the scope had ended. */
static unsigned outcome_of_end(const struct run *run)
{
	enum cancel_reason reason = cancel_reason(&run->scope.cancel);

	return reason == CANCEL_DEADLINE ? HTTP_TIMEOUT : HTTP_CANCELED;
}

static unsigned outcome_of(const struct run *run, const struct calls_call *call)
{
	if (call->has_run)
		return call->outcome;
	return call->task.result == -EAGAIN ? BATCH_REJECTED : outcome_of_end(run);
}

static void collect(struct run *run)
{
	struct task *task;

	while (scope_next(&run->scope, DEADLINE_NEVER, &task) == 1) {
		const struct calls_call *call =
			(const struct calls_call *)((char *)task -
		                                    offsetof(struct calls_call, task));

		run->out--;
		settle(run, call->number, outcome_of(run, call));
		tell(run);
		fork_ready(run);
	}
}

/* What the parent has not heard of. */
static void settle_rest(struct run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		if (i % CALLS_BETWEEN_YIELDS == CALLS_BETWEEN_YIELDS - 1)
			task_yield();
		if (!run->calls[i].is_settled)
			settle(run, i, outcome_of(run, &run->calls[i]));
		tell(run);
	}
}

/* Whether something is to be done as soon as a call returns. If not the parent need not be woken
 * for each. */
static bool must_collect(const struct calls_writer *writer, const struct calls_graph *graph)
{
	return calls_writer_streams(writer) || writer->by_completion || graph->waits_for;
}

static void make_calls(struct run *run, const struct calls_running *how)
{
	struct scope_options options = {
		.policy = run->collects ? SCOPE_COLLECT : SCOPE_ALL,
		.max_parallel = how->max_parallel,
		.deadline = how->deadline,
	};

	scope_open(&run->scope, &options);
	run->is_open = true;
	fork_ready(run);
	if (run->collects)
		collect(run);
	(void)scope_join(&run->scope); /* what became of the children is in the calls */
	run->is_open = false;
}

size_t calls_run_bytes(size_t count)
{
	return 2 * count * sizeof(uint32_t);
}

int calls_run(struct calls_call *calls, size_t count, struct calls_graph *graph,
              const struct calls_running *how, struct calls_writer *writer)
{
	struct run run = {
		.calls = calls,
		.count = count,
		.graph = graph,
		.writer = writer,
		.collects = must_collect(writer, graph),
		.ready.places = malloc(calls_run_bytes(count)),
	};

	if (!run.ready.places)
		return -ENOMEM;
	run.settled.places = run.ready.places + count;
	calls_window_init(&run.window, how->window_bytes);
	calls_judge_init(&run.judge, &run.scope, how->policy, how->quorum);
	for (size_t i = 0; i < count; i++)
		if (!graph->waits_for || graph->waits_for[i] == 0)
			push(&run.ready, i);
	make_calls(&run, how);
	settle_rest(&run);
	free(run.ready.places);
	return run.error;
}
