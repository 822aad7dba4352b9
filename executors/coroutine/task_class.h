#ifndef EXECUTORS_COROUTINE_TASK_CLASS_H
#define EXECUTORS_COROUTINE_TASK_CLASS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "executors/task.h"

/*
 * Tasks with the same name are of one class, or without one those with the same
 * run function: a route, the calls that it makes. A class whose tasks keep
 * their carriers again and again is heavy: its tasks run beside their carriers
 * from the start, on spare drivers, a few at a time, rather than hold up a carrier
 * for the threshold each. By class and not by scope, because requests that block
 * are usually a scope each.
 *
 * A class becomes heavy by its second task that keeps a carrier, and stops being
 * it when more and more of its tasks do not.
 */
enum {
	TASK_CLASSES = 64, /* known at most; others are never heavy */
	CLASS_PINNED = 16, /* what a task that kept its carrier adds to the score; others take 1 */
	CLASS_HEAVY = 32,
	CLASS_SCORE_MAX = 64,
};

struct task_class {
	_Atomic(const void *) key; /* NULL: free. Written by the monitor alone; release,
	                                        partner: task_class_find() */
	atomic_uint score;         /* relaxed: a heuristic */
	atomic_bool computes;      /* relaxed; the last one that was seen did, rather than
	                              wait in the kernel */
};

struct task_classes {
	struct task_class table[TASK_CLASSES]; /* open addressing */
	atomic_bool any;                       /* relaxed: there may be one in the table */
};

/** The class of @task, or NULL if none of its kind has ever kept a carrier. Any thread. */
struct task_class *task_class_find(struct task_classes *classes, const struct task *task);

/** The same, added if need be; NULL: there are too many. The monitor only. */
struct task_class *task_class_add(struct task_classes *classes, const struct task *task);

/** A task of @task_class has kept its thread for long, or has ended without. Any thread. */
void task_class_note(struct task_class *task_class, bool was_pinned);

static inline bool task_class_is_heavy(struct task_class *task_class)
{
	return task_class &&
	       atomic_load_explicit(&task_class->score, memory_order_relaxed) >= CLASS_HEAVY;
}

#endif
