#ifndef EXECUTORS_TASK_CONTEXT_H
#define EXECUTORS_TASK_CONTEXT_H

#include "executors/task.h"

/*
 * Values that hold for a call and everything below it, such as the id of the
 * request, without passing them through every function:
 *
 *	static const struct task_key request_id = {"request id"};
 *
 *	struct task_binding binding = {.key = &request_id, .value = id};
 *	result = task_with_context(&binding, handle, request);
 *
 * Children inherit what is bound where their scope was opened. They share it:
 * nothing is copied, because a scope ends before the call it was opened in.
 * Values are read by many tasks at once and so never change. After Java's scoped
 * values (JEP 506).
 */
struct task_key {
	const char *name; /* static text, for debugging; the key is its address */
};

struct task_binding {
	const struct task_key *key;
	const void *value; /* borrowed */

	const struct task_binding *outer; /* for executors/ alone */
};

/**
 * The value that the calling task has bound to @key last, or inherited; NULL without any. Task
 * only; takes a step per binding, so bind few.
 */
const void *task_context_get(const struct task_key *key);

/**
 * Return fn(arg), called with @binding in force. It hides an earlier one of the same key. A scope
 * that was opened before must not be forked into from @fn, nor joined there. Task only.
 */
int task_with_context(struct task_binding *binding, int (*fn)(void *arg), void *arg);

#endif
