#include "handlers/batch_answer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/with_cmocka.h"

static struct text_buffer buffer;
static struct batch *batch;
static struct batch_summary *summary;

static int one_call(void **state)
{
	(void)state;
	text_buffer_init(&buffer, 10000);
	batch = batch_create(1);
	summary = batch_summary_create(1);
	return batch && summary ? 0 : -1;
}

static int free_all(void **state)
{
	(void)state;
	text_buffer_finish(&buffer);
	free(batch);
	free(summary);
	return 0;
}

static void print(int64_t elapsed_ns)
{
	text_buffer_finish(&buffer);
	batch_answer_print(&(struct batch_answer){.executor = "pool",
	                                          .client = "curl",
	                                          .elapsed_ns = elapsed_ns,
	                                          .summary = summary,
	                                          .batch = batch},
	                   &buffer);
	text_buffer_append(&buffer, "\n");
	assert_int_equal(buffer.error, 0);
	buffer.data[buffer.length - 1] = '\0';
}

static void expect_printed(const char *text)
{
	if (!strstr(buffer.data, text))
		fail_msg("no %s in %s", text, buffer.data);
}

static void the_whole_answer_is_as_documented(void **state)
{
	(void)state;
	batch->each[0] = (struct batch_child){.status = 200, .elapsed_ns = 1000349999};
	atomic_init(&batch->peak_in_flight, 1);
	batch_summary_fill(summary, batch);
	print(1013150000);
	assert_string_equal(
		buffer.data,
		"{\"executor\":\"pool\",\"client\":\"curl\",\"n\":1,\"ok\":1,\"failed\":0,"
		"\"elapsed_ms\":1013.2,\"call_ms\":{\"min\":1000.3,\"p50\":1000.3,\"p90\":1000.3,"
		"\"p99\":1000.3,\"max\":1000.3},\"statuses\":{\"200\":1},\"errors\":{},"
		"\"coverage\":{\"requested\":1,\"succeeded\":1,\"percent\":100.0,"
		"\"degraded\":{}},\"peak_in_flight\":1}");
}

static void milliseconds_are_rounded_to_the_nearest_tenth(void **state)
{
	(void)state;
	print(49999);
	expect_printed("\"elapsed_ms\":0.0,");
	print(50000);
	expect_printed("\"elapsed_ms\":0.1,");
	print(999949999);
	expect_printed("\"elapsed_ms\":999.9,");
	print(999950000);
	expect_printed("\"elapsed_ms\":1000.0,");
}

static void only_all_is_100_percent_and_only_none_is_0(void **state)
{
	(void)state;
	summary->requested = 100000;
	summary->ok = 99999;
	print(0);
	expect_printed("\"percent\":99.9,");
	summary->ok = 100000;
	print(0);
	expect_printed("\"percent\":100.0,");
	summary->ok = 1;
	print(0);
	expect_printed("\"percent\":0.1,");
	summary->ok = 0;
	print(0);
	expect_printed("\"percent\":0.0,");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, one_call, free_all)
	const struct CMUnitTest tests[] = {
		TEST(the_whole_answer_is_as_documented),
		TEST(milliseconds_are_rounded_to_the_nearest_tenth),
		TEST(only_all_is_100_percent_and_only_none_is_0),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
