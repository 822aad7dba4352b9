#include "executors/executor.h"

#include <assert.h>
#include <string.h>

#include "executors/executor_ops.h"

static const struct executor_ops *const kinds[] = {
	&coroutine_executor_ops,
	&pool_executor_ops,
	&thread_executor_ops,
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *const *executor_names(void)
{
	/* A list of its own, because the names stand in structs of other files. */
	static const char *const names[KINDS + 1] = {"coroutine", "pool", "thread"};

	return names;
}

int executor_create(const char *name, const struct executor_options *options, struct executor **out)
{
	if (options->max_tasks == 0 || options->threads == 0)
		return -EINVAL;
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i]->create(options, out);
	return -ENOENT;
}

const char *executor_name(const struct executor *executor)
{
	return executor->ops->name;
}

void executor_init(struct executor *executor, const struct executor_ops *ops,
                   const struct executor_options *options)
{
	*executor = (struct executor){.ops = ops, .options = *options};
}

void executor_admit_over_limit(struct executor *executor)
{
	atomic_fetch_add(&executor->live, 1);
}

int executor_admit(struct executor *executor)
{
	unsigned live = atomic_load(&executor->live);

	do {
		if (live >= executor->options.max_tasks)
			return -EAGAIN;
	} while (!atomic_compare_exchange_weak(&executor->live, &live, live + 1));
	return 0;
}

void executor_count_started(struct executor *executor, unsigned count)
{
	if (count > 0)
		atomic_fetch_add_explicit(&executor->submitted, count, memory_order_relaxed);
}

void executor_count_answer(struct executor *executor, int error)
{
	if (error == 0)
		executor_count_started(executor, 1);
	else if (error == -EAGAIN)
		atomic_fetch_add_explicit(&executor->refused, 1, memory_order_relaxed);
}

void executor_release(struct executor *executor)
{
	unsigned before = atomic_fetch_sub(&executor->live, 1);

	assert(before > 0);
}

static int admit_and_submit(struct executor *executor, struct task *task)
{
	int error = executor_admit(executor);

	if (error < 0)
		return error;
	task->executor = executor;
	if (task->deadline.ns == 0)
		task->deadline = DEADLINE_NEVER;
	error = executor->ops->submit(executor, task);
	if (error < 0)
		executor_release(executor);
	return error;
}

int executor_submit(struct executor *executor, struct task *task)
{
	int error;

	assert(task->run && task->done && !task->scope);
	if (atomic_load(&executor->closing))
		return -ESHUTDOWN;
	error = admit_and_submit(executor, task);
	executor_count_answer(executor, error);
	return error;
}

int executor_resize(struct executor *executor, unsigned carriers)
{
	assert(carriers > 0);
	return executor->ops->resize(executor, carriers);
}

unsigned executor_pinned_events(struct executor *executor, uint64_t *next, struct pinned_event *out,
                                unsigned max)
{
	return executor->ops->pinned_events ? executor->ops->pinned_events(executor, next, out, max)
	                                    : 0;
}

bool executor_pinned_stack(struct executor *executor, uint64_t number, struct stack_snapshot *out)
{
	return executor->ops->pinned_stack && executor->ops->pinned_stack(executor, number, out);
}

const char *pinned_kind_name(enum pinned_kind kind)
{
	static const char *const names[] = {
		[PINNED_CPU] = "cpu",
		[PINNED_SYSCALL] = "syscall",
		[PINNED_LOCK] = "lock",
	};

	return names[kind];
}

void executor_stats(struct executor *executor, struct executor_stats *out)
{
	struct executor_stats stats = {
		.submitted = atomic_load_explicit(&executor->submitted, memory_order_relaxed),
		.refused = atomic_load_explicit(&executor->refused, memory_order_relaxed),
		.live = atomic_load(&executor->live),
		.parked = atomic_load_explicit(&executor->parked, memory_order_relaxed),
	};

	executor->ops->stats(executor, &stats);
	*out = stats;
}

void executor_destroy(struct executor *executor)
{
	if (!executor)
		return;
	assert(!task_current());
	atomic_store(&executor->closing, true);
	executor->ops->destroy(executor);
}
