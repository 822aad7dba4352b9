#include "handlers/batch.h"

#include <errno.h>
#include <stdlib.h>

enum { FORKS_BETWEEN_YIELDS = 1000 };

const char *batch_outcome_name(unsigned outcome)
{
	return outcome == BATCH_REJECTED ? "rejected"
	                                 : http_failure_name((enum http_failure)outcome);
}

uint64_t batch_bytes(size_t count)
{
	return sizeof(struct batch) + (uint64_t)count * sizeof(struct batch_child);
}

struct batch *batch_create(size_t count)
{
	struct batch *batch = calloc(1, (size_t)batch_bytes(count));

	if (!batch)
		return NULL;
	batch->count = count;
	for (size_t i = 0; i < count; i++)
		batch->each[i].batch = batch;
	return batch;
}

size_t batch_index(const struct batch_child *child)
{
	return (size_t)(child - child->batch->each);
}

void batch_enter(struct batch *batch)
{
	unsigned now = atomic_fetch_add_explicit(&batch->in_flight, 1, memory_order_relaxed) + 1;
	unsigned peak = atomic_load_explicit(&batch->peak_in_flight, memory_order_relaxed);

	/* A failed exchange loads what another child has put there: try again only if less. */
	while (now > peak &&
	       !atomic_compare_exchange_weak_explicit(&batch->peak_in_flight, &peak, now,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
}

void batch_leave(struct batch *batch)
{
	atomic_fetch_sub_explicit(&batch->in_flight, 1, memory_order_relaxed);
}

unsigned batch_outcome_of_end(void)
{
	enum cancel_reason reason = task_cancel_reason();

	return reason == CANCEL_NONE || reason == CANCEL_DEADLINE ? HTTP_TIMEOUT : HTTP_CANCELED;
}

static int run_child(struct task *task)
{
	struct batch_child *child =
		(struct batch_child *)((char *)task - offsetof(struct batch_child, task));
	const struct batch_work *work = child->batch->work;

	child->ran = true;
	work->run(child, work);
	return 0;
}

/* The outcome of a child that never ran. @joined is what scope_join() said. */
static unsigned outcome_of_unstarted(const struct batch_child *child, int joined)
{
	if (child->task.result == -EAGAIN)
		return BATCH_REJECTED;
	return joined == -ETIMEDOUT ? HTTP_TIMEOUT : HTTP_CANCELED;
}

void batch_run(struct batch *batch, const struct batch_work *work,
               const struct scope_options *options)
{
	struct scope scope;
	int joined;

	batch->work = work;
	scope_open(&scope, options);
	for (size_t i = 0; i < batch->count; i++) {
		struct task *child = &batch->each[i].task;
		int refused;

		if (i % FORKS_BETWEEN_YIELDS == FORKS_BETWEEN_YIELDS - 1)
			task_yield();
		child->run = run_child;
		child->name = work->task_name;
		refused = scope_fork(&scope, child);
		if (refused)
			child->result = refused;
	}
	joined = scope_join(&scope);
	for (size_t i = 0; i < batch->count; i++)
		if (!batch->each[i].ran)
			batch->each[i].outcome = outcome_of_unstarted(&batch->each[i], joined);
}
