#include "executors/coroutine/task_class.h"

#include <stdint.h>

static const void *key_of(const struct task *task)
{
	return task->name ? (const void *)task->name : (const void *)(uintptr_t)task->run;
}

static unsigned slot_of(const void *key)
{
	return (unsigned)((uintptr_t)key * 2654435769u >> 8) % TASK_CLASSES;
}

/* The place of @key, or the free one at which it would stand; NULL: neither. */
static struct task_class *find_place(struct task_classes *classes, const void *key)
{
	unsigned first = slot_of(key);

	for (unsigned i = 0; i < TASK_CLASSES; i++) {
		struct task_class *place = &classes->table[(first + i) % TASK_CLASSES];
		const void *there = atomic_load_explicit(&place->key, memory_order_acquire);

		if (!there || there == key)
			return place;
	}
	return NULL;
}

struct task_class *task_class_find(struct task_classes *classes, const struct task *task)
{
	struct task_class *place;
	const void *key = key_of(task);

	if (!atomic_load_explicit(&classes->any, memory_order_relaxed))
		return NULL;
	place = find_place(classes, key);
	return place && atomic_load_explicit(&place->key, memory_order_acquire) == key ? place
	                                                                               : NULL;
}

struct task_class *task_class_add(struct task_classes *classes, const struct task *task)
{
	struct task_class *place = find_place(classes, key_of(task));

	if (!place)
		return NULL;
	atomic_store_explicit(&place->key, key_of(task), memory_order_release);
	atomic_store_explicit(&classes->any, true, memory_order_relaxed);
	return place;
}

void task_class_note(struct task_class *task_class, bool was_pinned)
{
	unsigned score = atomic_load_explicit(&task_class->score, memory_order_relaxed);
	unsigned next;

	do {
		if (!was_pinned)
			next = score > 0 ? score - 1 : 0;
		else if (score + CLASS_PINNED < CLASS_SCORE_MAX)
			next = score + CLASS_PINNED;
		else
			next = CLASS_SCORE_MAX;
	} while (!atomic_compare_exchange_weak_explicit(
		&task_class->score, &score, next, memory_order_relaxed, memory_order_relaxed));
}
