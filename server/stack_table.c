#include "server/stack_table.h"

#include <stdint.h>
#include <string.h>

/* FNV-1a over words. */
static unsigned hash(const struct task_dump_entry *task)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (unsigned i = 0; i < task->frames; i++)
		hash = (hash ^ (uintptr_t)task->pcs[i]) * UINT64_C(1099511628211);
	return (unsigned)(hash >> 32);
}

static bool is_same(const struct stack_table_entry *entry, const struct task_dump_entry *task)
{
	return entry->frames == task->frames &&
	       memcmp(entry->pcs, task->pcs, task->frames * sizeof(task->pcs[0])) == 0;
}

unsigned stack_table_add(struct stack_table *table, const struct task_dump_entry *task)
{
	unsigned at = hash(task) % STACK_TABLE_SLOTS;

	if (task->frames == 0)
		return STACK_TABLE_NONE;
	for (; table->slots[at] > 0; at = (at + 1) % STACK_TABLE_SLOTS)
		if (is_same(&table->stacks[table->slots[at] - 1], task))
			return table->slots[at] - 1;
	if (table->count == STACK_TABLE_MAX)
		return STACK_TABLE_NONE;
	struct stack_table_entry *entry = &table->stacks[table->count++];

	entry->frames = task->frames;
	memcpy(entry->pcs, task->pcs, sizeof(entry->pcs));
	table->slots[at] = table->count;
	return table->count - 1;
}
