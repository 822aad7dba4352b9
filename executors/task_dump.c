#include "executors/task_dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "executors/executor_ops.h"
#include "executors/mutex.h"

int executor_dump_tasks(struct executor *executor, unsigned max, struct task_dump *out)
{
	struct task_dump dump = {.now_ns = deadline_now_ns(), .capacity = max};
	unsigned live = atomic_load(&executor->live);
	struct executor_stats stats;
	int error = -ENOMEM;

	dump.entries = calloc(max > 0 ? max : 1, sizeof(*dump.entries));
	if (dump.entries)
		error = executor->ops->dump_tasks(executor, &dump);
	if (error < 0) {
		task_dump_finish(&dump);
		return error;
	}
	executor_stats(executor, &stats);
	if (stats.live > live)
		live = stats.live;
	dump.rest = live > dump.count ? live - dump.count : 0;
	dump.queued = stats.queued;
	*out = dump;
	return 0;
}

void task_dump_finish(struct task_dump *dump)
{
	free(dump->entries);
	free(dump->carriers);
	*dump = (struct task_dump){0};
}

const char *task_state_name(enum task_state state)
{
	static const char *const names[] = {
		[TASK_READY] = "ready",
		[TASK_RUNNING] = "running",
		[TASK_PARKED] = "parked",
		[TASK_BESIDE] = "beside",
	};

	return names[state];
}

const char *wait_kind_name(enum wait_kind kind)
{
	static const char *const names[] = {
		[WAIT_OTHER] = "wake",
		[WAIT_SLEEP] = "sleep",
		[WAIT_READABLE] = "readable",
		[WAIT_WRITABLE] = "writable",
		[WAIT_SEMAPHORE] = "semaphore",
		[WAIT_MUTEX] = "mutex",
		[WAIT_ONCE] = "once",
		[WAIT_CONDITION] = "condition",
		[WAIT_LATCH] = "latch",
		[WAIT_SEND] = "channel send",
		[WAIT_RECEIVE] = "channel receive",
		[WAIT_CHILDREN] = "children",
		[WAIT_OWN_CHILD] = "own child",
		[WAIT_OFFLOAD] = "offload",
		[WAIT_CALL] = "call",
		[WAIT_LOOKUP] = "lookup",
		[WAIT_CONNECTION] = "connection",
		[WAIT_READER] = "reader",
	};

	return names[kind];
}

const char *scope_policy_name(enum scope_policy policy)
{
	static const char *const names[] = {
		[SCOPE_ALL] = "all",
		[SCOPE_FIRST] = "first",
		[SCOPE_FAIL_FAST] = "fail fast",
		[SCOPE_QUORUM] = "quorum",
		[SCOPE_COLLECT] = "collect",
	};

	return names[policy];
}

void task_dump_describe(struct task_dump_entry *entry, const struct task *task)
{
	*entry = (struct task_dump_entry){
		.id = task,
		.parent = task->scope ? task->scope->parent : NULL,
		.scope = task->scope,
		.name = task->name,
		.carrier = TASK_DUMP_NO_CARRIER,
		.deadline = task->deadline,
	};
}

static struct task_dump_scope describe_scope(struct scope *scope)
{
	struct task_dump_scope out = {
		.id = scope,
		.policy = scope->policy,
		.deadline = scope->deadline,
	};

	pthread_mutex_lock(&scope->cancel.lock);
	out.running = scope->running;
	out.not_started = scope->remaining - scope->running; /* or one that is just returning */
	pthread_mutex_unlock(&scope->cancel.lock);
	return out;
}

void task_dump_add_scopes(struct task_dump_entry *entry, const struct task *task)
{
	for (struct scope *scope = task->scopes; scope; scope = scope->outer) {
		if (entry->open_scopes < TASK_DUMP_SCOPES)
			entry->scopes[entry->open_scopes] = describe_scope(scope);
		entry->open_scopes++;
	}
}

static void copy_host(struct task_dump_entry *entry, const struct wait_site *site)
{
	size_t length = site->detail;

	if (length >= sizeof(entry->text))
		length = sizeof(entry->text) - 1;
	memcpy(entry->text, site->object, length);
	entry->text[length] = '\0';
}

void task_dump_add_wait(struct task_dump_entry *entry, const struct task *task)
{
	const struct wait_site *site = &task->site;

	entry->wait = site->kind;
	entry->detail = site->detail;
	entry->object = site->object;
	switch (site->kind) {
	case WAIT_MUTEX:
	case WAIT_ONCE:
		entry->owner = atomic_load_explicit(
			&((const struct task_mutex *)site->object)->owner, memory_order_relaxed);
		break;
	case WAIT_CALL:
	case WAIT_LOOKUP:
		copy_host(entry, site);
		entry->object = NULL;
		break;
	default:
		break;
	}
}
