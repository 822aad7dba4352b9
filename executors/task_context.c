#include "executors/task_context.h"

#include <assert.h>
#include <stddef.h>

const void *task_context_get(const struct task_key *key)
{
	const struct task *task = task_current();

	assert(task);
	for (const struct task_binding *binding = task->context; binding; binding = binding->outer)
		if (binding->key == key)
			return binding->value;
	return NULL;
}

int task_with_context(struct task_binding *binding, int (*fn)(void *arg), void *arg)
{
	struct task *task = task_current();
	int result;

	assert(task && binding->key);
	binding->outer = task->context;
	task->context = binding;
	result = fn(arg);
	assert(task->context == binding);
	task->context = binding->outer;
	return result;
}
