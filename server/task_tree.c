#include "server/task_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Below zero, zero, above: for sorting. */
static int compare(uintptr_t a, uintptr_t b)
{
	return (a > b) - (a < b);
}

static int compare_ids(const void *a, const void *b, void *nodes)
{
	const struct task_node *const all = nodes;

	return compare((uintptr_t)all[*(const unsigned *)a].task->id,
	               (uintptr_t)all[*(const unsigned *)b].task->id);
}

/* Where @id stands in @order, which is sorted by it; TASK_TREE_ROOT: it is not there. */
static unsigned find(const struct task_node *nodes, const unsigned *order, unsigned count,
                     const void *id)
{
	unsigned low = 0;

	while (count > 0) {
		unsigned half = count / 2;
		int difference =
			compare((uintptr_t)nodes[order[low + half]].task->id, (uintptr_t)id);

		if (difference == 0)
			return order[low + half];
		if (difference < 0) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return TASK_TREE_ROOT;
}

/* Whether two siblings are to be told apart, and which group comes first. */
static int compare_kinds(const struct task_node *a, const struct task_node *b)
{
	const struct task_dump_entry *one = a->task, *other = b->task;
	const bool has_owner = one->wait == WAIT_MUTEX || one->wait == WAIT_ONCE;
	int difference =
		strcmp(one->name != NULL ? one->name : "", other->name != NULL ? other->name : "");

	if (difference == 0)
		difference = compare(one->state, other->state);
	if (difference == 0)
		difference = compare(one->wait, other->wait);
	if (difference == 0)
		difference = strcmp(one->text, other->text);
	if (difference == 0)
		difference = compare(a->stack, b->stack);
	if (difference == 0 && has_owner)
		difference = compare((uintptr_t)one->object, (uintptr_t)other->object);
	if (difference == 0 && (a->has_children || b->has_children))
		difference = compare((uintptr_t)one->id, (uintptr_t)other->id);
	return difference;
}

static int compare_ages(const struct task_node *a, const struct task_node *b)
{
	return (a->task->started_ns > b->task->started_ns) -
	       (a->task->started_ns < b->task->started_ns);
}

static int compare_siblings(const void *a, const void *b, void *nodes)
{
	const struct task_node *const all = nodes;
	const struct task_node *one = &all[*(const unsigned *)a];
	const struct task_node *other = &all[*(const unsigned *)b];
	int difference = compare(one->parent, other->parent);

	if (difference == 0)
		difference = compare_kinds(one, other);
	return difference != 0 ? difference : compare_ages(one, other);
}

static int compare_groups(const void *a, const void *b, void *nodes)
{
	const struct task_node *const all = nodes;
	const struct task_group *one = a, *other = b;
	int difference = compare(one->parent, other->parent);

	return difference != 0 ? difference : compare_ages(&all[one->oldest], &all[other->oldest]);
}

static void link_parents(struct task_node *nodes, unsigned *order, unsigned count)
{
	qsort_r(order, count, sizeof(*order), compare_ids, nodes);
	for (unsigned i = 0; i < count; i++) {
		nodes[i].parent = find(nodes, order, count, nodes[i].task->parent);
		if (nodes[i].parent != TASK_TREE_ROOT)
			nodes[nodes[i].parent].has_children = true;
	}
}

static void make_groups(struct task_tree *tree, unsigned *order, unsigned count)
{
	struct task_group *group = NULL;

	qsort_r(order, count, sizeof(*order), compare_siblings, tree->nodes);
	for (unsigned i = 0; i < count; i++) {
		const struct task_node *node = &tree->nodes[order[i]];

		if (group == NULL || node->parent != group->parent ||
		    compare_kinds(node, &tree->nodes[group->oldest]) != 0) {
			group = &tree->groups[tree->group_count++];
			*group = (struct task_group){.parent = node->parent, .oldest = order[i]};
		}
		group->youngest = order[i];
		group->count++;
	}
	qsort_r(tree->groups, tree->group_count, sizeof(*tree->groups), compare_groups,
	        tree->nodes);
}

int task_tree_build(struct task_tree *tree, const struct task_dump *dump,
                    struct stack_table *stacks)
{
	unsigned *order = calloc(dump->count + 1, sizeof(*order));

	*tree = (struct task_tree){
		.nodes = calloc(dump->count + 1, sizeof(*tree->nodes)),
		.groups = calloc(dump->count + 1, sizeof(*tree->groups)),
	};
	if (order == NULL || tree->nodes == NULL || tree->groups == NULL) {
		free(order);
		task_tree_finish(tree);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < dump->count; i++) {
		const struct task_dump_entry *task = &dump->entries[i];

		order[i] = i;
		tree->nodes[i] = (struct task_node){
			.task = task,
			.stack = stack_table_add(stacks, task),
			.has_children = task->open_scopes > 0,
		};
	}
	link_parents(tree->nodes, order, dump->count);
	make_groups(tree, order, dump->count);
	free(order);
	return 0;
}

void task_tree_finish(struct task_tree *tree)
{
	free(tree->nodes);
	free(tree->groups);
	*tree = (struct task_tree){0};
}

const struct task_group *task_tree_below(const struct task_tree *tree, unsigned parent,
                                         unsigned *count)
{
	unsigned low = 0, high = tree->group_count, end;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (tree->groups[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < tree->group_count && tree->groups[end].parent == parent; end++)
		continue;
	*count = end - low;
	return &tree->groups[low];
}
