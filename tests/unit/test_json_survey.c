#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/json_survey.h"
#include "tests/with_cmocka.h"

static void expect_depth(const char *text, size_t depth)
{
	assert_int_equal(json_survey(text, strlen(text)).depth, depth);
}

static void brackets_in_strings_are_not_nesting(void **state)
{
	(void)state;
	expect_depth("", 0);
	expect_depth("1", 0);
	expect_depth("[]", 1);
	expect_depth("[[],[[]],{\"a\":[]}]", 3);
	expect_depth("[\"[[[\"]", 1);
	expect_depth("[\"\\\"[[\"]", 1);
	expect_depth("[\"\\\\\",[]]", 2);
	expect_depth("[\"[[", 1);
	expect_depth("[\"\\", 1);
	expect_depth("]]]][", 1);
}

static void the_place_of_the_deepest_is_where_it_first_opens(void **state)
{
	(void)state;
	assert_int_equal(json_survey("[[],{\"a\":[]},[[]]]", 18).deepest_at, 9);
}

/* What the parser allocates, counted by the allocator: no less than is asked for. */
static size_t allocated;

static void *count_malloc(size_t bytes)
{
	void *memory = malloc(bytes);

	allocated += memory ? malloc_usable_size(memory) + 8 : 0;
	return memory;
}

static void count_free(void *memory)
{
	allocated -= memory ? malloc_usable_size(memory) + 8 : 0;
	free(memory);
}

static void expect_enough(const char *piece, size_t times, const char *last)
{
	size_t length = strlen(piece), end = 1 + times * length + strlen(last) + 1;
	char *text = malloc(end + 1);
	json_t *tree;

	assert_non_null(text);
	text[0] = '[';
	for (size_t i = 0; i < times; i++)
		memcpy(text + 1 + i * length, piece, length);
	memcpy(text + 1 + times * length, last, strlen(last));
	memcpy(text + end - 1, "]", 2);
	allocated = 0;
	tree = json_loadb(text, end, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(tree);
	if (json_survey(text, end).tree_bytes < allocated)
		fail_msg("%s: %zu bytes, not %zu", piece, allocated,
		         json_survey(text, end).tree_bytes);
	json_decref(tree);
	free(text);
}

static void a_tree_takes_no_more_than_is_foreseen(void **state)
{
	(void)state;
	json_set_alloc_funcs(count_malloc, count_free);
	expect_enough("", 0, "");
	expect_enough("{},", 10000, "1");
	expect_enough("[],", 10000, "1");
	expect_enough("1,", 10000, "1");
	expect_enough("1,", 9, "1"); /* just more than an array has room for at first */
	expect_enough("\"\",", 10000, "1");
	expect_enough("1.5,", 10000, "1");
	expect_enough("{\"a\":1,\"b\":[],\"c\":\"\"},", 10000, "1");
	expect_enough("{\"id\":\"12345\",\"url\":\"/slow?ms=10\"},", 1000, "1");
	expect_enough("{\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":8,\"9\":9},",
	              1000, "1");
	json_set_alloc_funcs(malloc, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brackets_in_strings_are_not_nesting),
		cmocka_unit_test(the_place_of_the_deepest_is_where_it_first_opens),
		cmocka_unit_test(a_tree_takes_no_more_than_is_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
