#include <stdlib.h>
#include <string.h>

#include "handlers/json_arena.h"
#include "handlers/json_survey.h"
#include "tests/with_cmocka.h"

static const char text[] =
	"{\"a\":[1,2.5,\"three\",null,{\"b\":[[]]}],\"c\":\"a string that is longer than others\"}";

static void expect_text(const json_t *tree)
{
	char *printed = json_dumps(tree, JSON_COMPACT);

	assert_non_null(printed);
	assert_string_equal(printed, text);
	free(printed);
}

static void without_the_allocator_a_tree_is_like_others(void **state)
{
	struct json_arena arena;

	(void)state;
	expect_text(json_arena_load(&arena, text, strlen(text), JSON_REJECT_DUPLICATES, NULL));
	assert_null(arena.blocks);
	json_arena_finish(&arena);
	assert_null(arena.tree);
	json_arena_finish(&arena);
}

static void with_it_a_tree_is_in_blocks(void **state)
{
	struct json_arena arena;

	(void)state;
	json_arena_install();
	expect_text(json_arena_load(&arena, text, strlen(text), JSON_REJECT_DUPLICATES, NULL));
	assert_non_null(arena.blocks);
	assert_in_range(arena.bytes, 1, 8192);
	json_arena_finish(&arena);
	assert_null(arena.blocks);
	json_arena_finish(&arena);
}

/* Others still get memory of their own, which they free one by one. */
static void trees_beside_it_are_as_always(void **state)
{
	struct json_arena arena;
	json_t *other = json_loads(text, 0, NULL);

	(void)state;
	assert_non_null(json_arena_load(&arena, text, strlen(text), 0, NULL));
	json_arena_finish(&arena);
	assert_int_equal(json_object_set_new(other, "d", json_integer(1)), 0);
	assert_int_equal(json_object_del(other, "d"), 0);
	expect_text(other);
	json_decref(other);
}

static void what_is_no_json_leaves_nothing(void **state)
{
	static const char *const bad[] = {"", "{", "{\"a\":1,\"a\":2}", "[\"\xff\"]", "[1]x"};
	struct json_arena arena;
	json_error_t error;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(json_arena_load(&arena, bad[i], strlen(bad[i]), JSON_REJECT_DUPLICATES,
		                            &error));
		assert_null(arena.blocks);
		assert_null(arena.tree);
		assert_int_not_equal(json_error_code(&error), json_error_unknown);
	}
}

static void long_texts_take_many_blocks(void **state)
{
	enum { ELEMENTS = 100000 };
	char *list = malloc(2 * ELEMENTS + 2);
	struct json_arena arena;
	const json_t *tree;

	(void)state;
	assert_non_null(list);
	list[0] = '[';
	for (size_t i = 0; i < ELEMENTS; i++)
		memcpy(list + 1 + 2 * i, "7,", 2);
	memcpy(list + 2 * ELEMENTS, "]", 2);
	tree = json_arena_load(&arena, list, strlen(list), 0, NULL);
	assert_int_equal(json_array_size(tree), ELEMENTS);
	assert_int_equal(json_integer_value(json_array_get(tree, ELEMENTS - 1)), 7);
	assert_true(arena.bytes <= json_survey(list, strlen(list)).tree_bytes);
	json_arena_finish(&arena);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_allocator_a_tree_is_like_others),
		cmocka_unit_test(with_it_a_tree_is_in_blocks),
		cmocka_unit_test(trees_beside_it_are_as_always),
		cmocka_unit_test(what_is_no_json_leaves_nothing),
		cmocka_unit_test(long_texts_take_many_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
