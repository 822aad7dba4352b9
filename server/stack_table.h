#ifndef SERVER_STACK_TABLE_H
#define SERVER_STACK_TABLE_H

#include "executors/task_dump.h"

/*
 * Stacks of tasks, each kept once: thousands of tasks wait at the same few
 * places. An open hash table of at most STACK_TABLE_MAX; more are not told apart.
 */
enum { STACK_TABLE_MAX = 1024, STACK_TABLE_SLOTS = 2 * STACK_TABLE_MAX };

#define STACK_TABLE_NONE UINT_MAX

struct stack_table_entry {
	const void *pcs[TASK_DUMP_FRAMES];
	unsigned frames;
};

/** Zeroed is an empty table. Large: not for a stack. */
struct stack_table {
	struct stack_table_entry stacks[STACK_TABLE_MAX];
	unsigned count;
	unsigned slots[STACK_TABLE_SLOTS]; /* 1 + an index of @stacks; 0: free */
};

/** The index of the stack of @task in @table, to which it is added if it is new; STACK_TABLE_NONE:
 * it has none, or there is no room. */
unsigned stack_table_add(struct stack_table *table, const struct task_dump_entry *task);

#endif
