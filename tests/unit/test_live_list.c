#include "executors/coroutine/live_list.h"
#include "tests/with_cmocka.h"

enum { COUNT = 4 };

static struct coroutine coroutines[COUNT];

static void fill(struct live_list *list)
{
	for (int i = 0; i < COUNT; i++)
		live_list_add(list, &coroutines[i]);
}

/* Whether @list is made of those with these numbers, -1 at the end. */
static void expect(const struct live_list *list, const int *numbers)
{
	const struct coroutine *at = list->first;

	for (; *numbers >= 0; numbers++, at = at->live_next)
		assert_ptr_equal(at, &coroutines[*numbers]);
	assert_null(at);
}

static void keeps_the_order_whoever_leaves(void **state)
{
	struct live_list list;

	(void)state;
	live_list_init(&list);
	fill(&list);
	expect(&list, (int[]){0, 1, 2, 3, -1});
	live_list_remove(&list, &coroutines[1]);
	live_list_remove(&list, &coroutines[3]);
	expect(&list, (int[]){0, 2, -1});
	live_list_add(&list, &coroutines[1]);
	expect(&list, (int[]){0, 2, 1, -1});
	live_list_remove(&list, &coroutines[0]);
	live_list_remove(&list, &coroutines[2]);
	live_list_remove(&list, &coroutines[1]);
	expect(&list, (int[]){-1});
	live_list_add(&list, &coroutines[3]);
	expect(&list, (int[]){3, -1});
}

static void the_cursor_moves_on_when_its_coroutine_leaves(void **state)
{
	struct live_list list;

	(void)state;
	live_list_init(&list);
	fill(&list);
	list.cursor = &coroutines[1];
	live_list_remove(&list, &coroutines[0]);
	assert_ptr_equal(list.cursor, &coroutines[1]);
	live_list_remove(&list, &coroutines[1]);
	assert_ptr_equal(list.cursor, &coroutines[2]);
	live_list_remove(&list, &coroutines[3]);
	live_list_remove(&list, &coroutines[2]);
	assert_null(list.cursor);
}

static void who_begins_anew_stands_last_and_is_read_once(void **state)
{
	struct live_list list;

	(void)state;
	live_list_init(&list);
	fill(&list);
	list.cursor = &coroutines[1];
	live_list_move_to_end(&list, &coroutines[1]);
	expect(&list, (int[]){0, 2, 3, 1, -1});
	assert_ptr_equal(list.cursor, &coroutines[2]);
	live_list_move_to_end(&list, &coroutines[1]);
	expect(&list, (int[]){0, 2, 3, 1, -1});
	live_list_move_to_end(&list, &coroutines[0]);
	expect(&list, (int[]){2, 3, 1, 0, -1});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_order_whoever_leaves),
		cmocka_unit_test(the_cursor_moves_on_when_its_coroutine_leaves),
		cmocka_unit_test(who_begins_anew_stands_last_and_is_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
