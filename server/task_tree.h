#ifndef SERVER_TASK_TREE_H
#define SERVER_TASK_TREE_H

#include "server/stack_table.h"

/*
 * A picture of tasks as a tree for people: below each task its children, the
 * oldest first, where children that are alike (same name, same wait, same stack, no children
 * of their own) are one group.
 */
#define TASK_TREE_ROOT UINT_MAX

struct task_node {
	const struct task_dump_entry *task; /* borrowed */
	unsigned parent;                    /* an index of nodes; TASK_TREE_ROOT: none is listed */
	unsigned stack;                     /* an index of the table, or STACK_TABLE_NONE */
	bool has_children;                  /* that are listed, or scopes */
};

struct task_group {
	unsigned parent;   /* as the nodes' */
	unsigned oldest;   /* an index of nodes */
	unsigned youngest; /* likewise */
	unsigned count;    /* at least 1 */
};

struct task_tree {
	struct task_node *nodes;   /* owned */
	struct task_group *groups; /* owned; those of one parent side by side */
	unsigned group_count;
};

/** From @dump, which is borrowed; stacks are added to @stacks. Returns 0 or -ENOMEM. */
int task_tree_build(struct task_tree *tree, const struct task_dump *dump,
                    struct stack_table *stacks);

void task_tree_finish(struct task_tree *tree);

/** The groups below the node @parent, or TASK_TREE_ROOT; @count is how many. */
const struct task_group *task_tree_below(const struct task_tree *tree, unsigned parent,
                                         unsigned *count);

#endif
