#include <stdlib.h>
#include <string.h>

#include "server/task_tree.h"
#include "tests/with_cmocka.h"

/* A picture as a tree, made by hand: @ids are names, nothing is ever read there. */

static char ids[64];

static struct task_dump_entry entry(int id, int parent, const char *name, int started_ns)
{
	return (struct task_dump_entry){
		.id = &ids[id],
		.parent = parent < 0 ? NULL : &ids[parent],
		.name = name,
		.state = TASK_PARKED,
		.wait = WAIT_SLEEP,
		.started_ns = started_ns,
	};
}

static struct stack_table *new_table(void)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	assert_non_null(table);
	return table;
}

static struct task_tree build(struct task_dump_entry *entries, unsigned count)
{
	struct task_dump dump = {.entries = entries, .count = count};
	struct stack_table *table = new_table();
	struct task_tree tree;

	assert_int_equal(task_tree_build(&tree, &dump, table), 0);
	free(table);
	return tree;
}

static const char *name_of(const struct task_tree *tree, const struct task_group *group)
{
	return tree->nodes[group->oldest].task->name;
}

static void children_stand_below_their_parent_the_oldest_first(void **state)
{
	struct task_dump_entry entries[] = {
		entry(5, 9, "young", 30),      entry(9, -1, "parent", 10), entry(4, 9, "old", 20),
		entry(3, 4, "grandchild", 25), entry(8, -1, "other", 5),
	};
	struct task_tree tree = build(entries, 5);
	const struct task_group *groups;
	unsigned count;

	(void)state;
	groups = task_tree_below(&tree, TASK_TREE_ROOT, &count);
	assert_int_equal(count, 2);
	assert_string_equal(name_of(&tree, &groups[0]), "other");
	assert_string_equal(name_of(&tree, &groups[1]), "parent");
	groups = task_tree_below(&tree, groups[1].oldest, &count);
	assert_int_equal(count, 2);
	assert_string_equal(name_of(&tree, &groups[0]), "old");
	assert_string_equal(name_of(&tree, &groups[1]), "young");
	groups = task_tree_below(&tree, groups[0].oldest, &count);
	assert_int_equal(count, 1);
	assert_string_equal(name_of(&tree, &groups[0]), "grandchild");
	(void)task_tree_below(&tree, groups[0].oldest, &count);
	assert_int_equal(count, 0);
	task_tree_finish(&tree);
}

static void siblings_that_are_alike_are_one_group(void **state)
{
	struct task_dump_entry entries[] = {
		entry(0, -1, "parent", 1), entry(1, 0, "call", 4), entry(2, 0, "call", 2),
		entry(3, 0, "call", 3),    entry(4, 0, "call", 5),
	};
	struct task_tree tree;
	const struct task_group *groups;
	unsigned count;

	(void)state;
	entries[4].wait = WAIT_LATCH;
	tree = build(entries, 5);
	groups = task_tree_below(&tree, 0, &count);
	assert_int_equal(count, 2);
	assert_int_equal(groups[0].count, 3);
	assert_int_equal(groups[0].oldest, 2);
	assert_int_equal(groups[0].youngest, 1);
	assert_int_equal(groups[1].count, 1);
	task_tree_finish(&tree);
}

static void who_waits_for_different_mutexes_is_not_alike(void **state)
{
	struct task_dump_entry entries[] = {entry(1, -1, "call", 1), entry(2, -1, "call", 2),
	                                    entry(3, -1, "call", 3)};
	struct task_tree tree;
	unsigned count;

	(void)state;
	for (int i = 0; i < 3; i++) {
		entries[i].wait = WAIT_MUTEX;
		entries[i].object = &ids[i == 0 ? 20 : 21];
	}
	tree = build(entries, 3);
	(void)task_tree_below(&tree, TASK_TREE_ROOT, &count);
	assert_int_equal(count, 2);
	task_tree_finish(&tree);
}

static void parents_are_never_folded_and_orphans_are_roots(void **state)
{
	struct task_dump_entry entries[] = {
		entry(1, -1, "parent", 1), entry(2, -1, "parent", 2), entry(3, 1, "child", 3),
		entry(4, 2, "child", 4),   entry(5, 50, "orphan", 5),
	};
	struct task_tree tree = build(entries, 5);
	unsigned count;

	(void)state;
	(void)task_tree_below(&tree, TASK_TREE_ROOT, &count);
	assert_int_equal(count, 3);
	(void)task_tree_below(&tree, 0, &count);
	assert_int_equal(count, 1);
	(void)task_tree_below(&tree, 1, &count);
	assert_int_equal(count, 1);
	task_tree_finish(&tree);
}

static void a_picture_without_tasks_is_an_empty_tree(void **state)
{
	struct task_tree tree = build(NULL, 0);
	unsigned count;

	(void)state;
	(void)task_tree_below(&tree, TASK_TREE_ROOT, &count);
	assert_int_equal(count, 0);
	task_tree_finish(&tree);
}

static void equal_stacks_are_kept_once(void **state)
{
	struct stack_table *table = new_table();
	struct task_dump_entry one = {.frames = 2, .pcs = {&ids[1], &ids[2]}};
	struct task_dump_entry other = {.frames = 2, .pcs = {&ids[1], &ids[3]}};
	struct task_dump_entry none = {.frames = 0};

	(void)state;
	assert_int_equal(stack_table_add(table, &one), 0);
	assert_int_equal(stack_table_add(table, &other), 1);
	assert_int_equal(stack_table_add(table, &one), 0);
	assert_int_equal(stack_table_add(table, &none), STACK_TABLE_NONE);
	assert_int_equal(table->count, 2);
	assert_ptr_equal(table->stacks[1].pcs[1], &ids[3]);
	free(table);
}

static void a_full_table_takes_no_new_stack_but_finds_the_old(void **state)
{
	struct stack_table *table = new_table();
	struct task_dump_entry task = {.frames = 1};

	(void)state;
	for (uintptr_t i = 1; i <= STACK_TABLE_MAX; i++) {
		task.pcs[0] = (const void *)i;
		assert_int_equal(stack_table_add(table, &task), i - 1);
	}
	task.pcs[0] = &ids[0];
	assert_int_equal(stack_table_add(table, &task), STACK_TABLE_NONE);
	task.pcs[0] = (const void *)(uintptr_t)7;
	assert_int_equal(stack_table_add(table, &task), 6);
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_stand_below_their_parent_the_oldest_first),
		cmocka_unit_test(siblings_that_are_alike_are_one_group),
		cmocka_unit_test(who_waits_for_different_mutexes_is_not_alike),
		cmocka_unit_test(parents_are_never_folded_and_orphans_are_roots),
		cmocka_unit_test(a_picture_without_tasks_is_an_empty_tree),
		cmocka_unit_test(equal_stacks_are_kept_once),
		cmocka_unit_test(a_full_table_takes_no_new_stack_but_finds_the_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
