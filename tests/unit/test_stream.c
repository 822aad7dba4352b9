/* The task's side of a stream, while no front takes anything. The rest is in tests/contract. */
#include "server/stream.h"

#include <errno.h>

#include "tests/contract/over_executor.h"
#include "tests/fakes/refusals.h"

enum { ROOM = 64 * 1024 };

static struct executor *executor;
static struct stream *stream;
static char bytes[2 * ROOM];

struct write {
	size_t length;
	bool without_memory;
	bool is_news; /* out */
};

static int write_now(void *argument)
{
	struct write *write = argument;
	int error;

	if (write->without_memory)
		refuse_from(REFUSE_MEMORY, 1);
	error = stream_write(stream, bytes, write->length, deadline_in_ms(0), &write->is_news);
	(void)refusals_end();
	return error;
}

static void expect_write(size_t length, int result, bool is_news)
{
	struct write write = {.length = length};

	assert_int_equal(run_in_task(executor, write_now, &write), result);
	assert_int_equal(write.is_news, is_news);
}

static int set_up(void **state)
{
	(void)state;
	executor_under_test = "pool";
	executor = start_executor(1);
	return stream_create(&stream);
}

static int tear_down(void **state)
{
	(void)state;
	stream_end(stream, true);
	stream_release(stream);
	executor_destroy(executor);
	return 0;
}

static void a_write_is_news_until_the_front_has_been_told(void **state)
{
	(void)state;
	expect_write(1, 0, true);
	expect_write(1, 0, false);
}

static void there_is_room_for_64_kib_and_one_write(void **state)
{
	(void)state;
	expect_write(ROOM - 1, 0, true);
	expect_write(sizeof(bytes), 0, false);
	expect_write(1, -ETIMEDOUT, false);
}

static void a_write_fails_once_the_stream_has_ended(void **state)
{
	(void)state;
	stream_end(stream, true);
	expect_write(1, -ECANCELED, false);
}

static void a_full_stream_that_has_ended_is_no_time_out(void **state)
{
	(void)state;
	expect_write(ROOM, 0, true);
	stream_end(stream, false);
	expect_write(1, -ECANCELED, false);
}

static void a_write_without_memory_is_no_news(void **state)
{
	struct write write = {.length = 1, .without_memory = true};

	(void)state;
	assert_int_equal(run_in_task(executor, write_now, &write), -ENOMEM);
	assert_false(write.is_news);
}

static void a_stream_needs_memory(void **state)
{
	struct stream *none = NULL;
	int error;

	(void)state;
	refuse(REFUSE_MEMORY, 1);
	error = stream_create(&none);
	assert_int_equal(refusals_end(), 1);
	assert_int_equal(error, -ENOMEM);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_write_is_news_until_the_front_has_been_told,
	                                        set_up, tear_down),
		cmocka_unit_test_setup_teardown(there_is_room_for_64_kib_and_one_write, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(a_write_fails_once_the_stream_has_ended, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(a_full_stream_that_has_ended_is_no_time_out, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(a_write_without_memory_is_no_news, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(a_stream_needs_memory, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
