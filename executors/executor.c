#include "executors/executor.h"

#include <assert.h>
#include <string.h>

#include "executors/executor_ops.h"

static const struct executor_ops *const kinds[] = {
	&coroutine_executor_ops,
	&pool_executor_ops,
	&thread_executor_ops,
};

/* Of the room that is left: what is admitted ahead of its coming at most. */
#define NEAR_LIMIT_PART 256

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

unsigned executor_admit_some(struct executor *executor, unsigned wanted)
{
	unsigned max_tasks = executor->options.max_tasks;
	unsigned live = atomic_load(&executor->live), admitted;

	do {
		unsigned most;

		if (live >= max_tasks)
			return 0;
		most = 1 + (max_tasks - live) / NEAR_LIMIT_PART;
		admitted = wanted < most ? wanted : most;
	} while (!atomic_compare_exchange_weak(&executor->live, &live, live + admitted));
	return admitted;
}

int executor_admit(struct executor *executor)
{
	return executor_admit_some(executor, 1) ? 0 : -EAGAIN;
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

void executor_release_some(struct executor *executor, unsigned count)
{
	unsigned before = atomic_fetch_sub(&executor->live, count);

	assert(before >= count);
}

void executor_release(struct executor *executor)
{
	executor_release_some(executor, 1);
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
