#include <stdlib.h>
#include <string.h>

#include "server/tasks_text.h"
#include "tests/with_cmocka.h"

/* A chain of tasks as text, each the child of the one before: ids are names, never followed. */

enum { MOST = 64 };

static char ids[MOST];

static char *text_of_a_chain(unsigned count)
{
	struct task_dump_entry entries[MOST];
	struct task_dump dump = {.entries = entries, .count = count};
	struct stack_table *stacks = calloc(1, sizeof(*stacks));
	struct stack_names names = {0};
	struct text_buffer out;
	char *text;
	size_t length;

	assert_non_null(stacks);
	for (unsigned i = 0; i < count; i++)
		entries[i] = (struct task_dump_entry){
			.id = &ids[i],
			.parent = i > 0 ? &ids[i - 1] : NULL,
			.name = "link",
			.state = TASK_READY,
			.carrier = TASK_DUMP_NO_CARRIER,
		};
	text_buffer_init(&out, 1 << 20);
	assert_int_equal(tasks_text_append(&out, &dump, "coroutine", stacks, &names), 0);
	text_buffer_append_bytes(&out, "", 1); /* for strstr() */
	assert_int_equal(text_buffer_take(&out, &text, &length), 0);
	text_buffer_finish(&out);
	stack_names_finish(&names);
	free(stacks);
	return text;
}

static unsigned times(const char *text, const char *what)
{
	unsigned count = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		count++;
	return count;
}

static void shows_a_chain_of_41_whole(void **state)
{
	char *text = text_of_a_chain(41);

	(void)state;
	assert_non_null(strstr(text, "41 tasks listed, 0 more"));
	assert_int_equal(times(text, "link 0x"), 41);
	assert_null(strstr(text, "not shown"));
	free(text);
}

static void says_that_it_leaves_out_what_is_deeper(void **state)
{
	char *text = text_of_a_chain(50);

	(void)state;
	assert_non_null(strstr(text, "50 tasks listed, 0 more"));
	assert_int_equal(times(text, "link 0x"), 41);
	assert_int_equal(times(text, "… deeper ones are not shown\n"), 1);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_a_chain_of_41_whole),
		cmocka_unit_test(says_that_it_leaves_out_what_is_deeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
