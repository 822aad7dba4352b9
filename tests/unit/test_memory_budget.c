#include "executors/memory_budget.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/with_cmocka.h"

static void takes_until_the_room_is_full(void **state)
{
	struct memory_budget budget;
	size_t first, second, third;

	(void)state;
	memory_budget_init(&budget);
	memory_budget_set(&budget, 1000, 100);
	assert_true(memory_budget_take(&budget, 60, &first));
	assert_int_equal(first, 60);
	assert_false(memory_budget_take(&budget, 41, &second));
	assert_int_equal(second, 0);
	assert_int_equal(memory_budget_left(&budget), 40);
	assert_true(memory_budget_take(&budget, 40, &third));
	memory_budget_give(&budget, first);
	assert_int_equal(memory_budget_left(&budget), 60);
	assert_int_equal(budget.refused, 1);
}

static void counts_nothing_without_a_limit(void **state)
{
	struct memory_budget budget;
	size_t taken = 1;

	(void)state;
	memory_budget_init(&budget);
	assert_true(memory_budget_take(&budget, SIZE_MAX, &taken));
	assert_int_equal(taken, 0);
	assert_int_equal(memory_budget_left(&budget), SIZE_MAX);
	/* What began before there was a limit gives back nothing that others have taken. */
	memory_budget_set(&budget, 1000, 100);
	memory_budget_give(&budget, taken);
	assert_int_equal(memory_budget_left(&budget), 100);
}

static void a_limit_that_falls_below_what_is_taken_leaves_nothing(void **state)
{
	struct memory_budget budget;
	size_t taken, more;

	(void)state;
	memory_budget_init(&budget);
	memory_budget_set(&budget, 1000, 100);
	assert_true(memory_budget_take(&budget, 80, &taken));
	memory_budget_set(&budget, 500, 50);
	assert_int_equal(memory_budget_left(&budget), 0);
	assert_false(memory_budget_take(&budget, 1, &more));
	memory_budget_give(&budget, taken);
	assert_true(memory_budget_take(&budget, 50, &more));
}

/* A file that says @text, as the kernel's of what is in use. */
static int usage(const char *text)
{
	int fd = memfd_create("usage", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void what_is_kept_must_really_be_free(void **state)
{
	struct memory_budget budget;

	(void)state;
	memory_budget_init(&budget);
	assert_true(memory_budget_keep(&budget, 1000000)); /* no limit */
	memory_budget_unkeep(&budget, 1000000);
	memory_budget_set(&budget, 1000, 900);
	memory_budget_measure_by(&budget, usage("700\n"));
	atomic_store(&budget.file_bytes, 100);
	/* 950 less 600. */
	assert_false(memory_budget_keep(&budget, 351));
	assert_true(memory_budget_keep(&budget, 200));
	assert_false(memory_budget_keep(&budget, 151));
	assert_true(memory_budget_keep(&budget, 150));
	assert_int_equal(budget.refused, 2);
	memory_budget_unkeep(&budget, 350);
	memory_budget_measure_by(&budget, usage("1000\n"));
	assert_false(memory_budget_keep(&budget, 51));
	assert_true(memory_budget_keep(&budget, 50));
	memory_budget_finish(&budget);
}

enum { TAKERS = 4, ROUNDS = 20000, ROOM = 3 };

static void *take_and_give(void *argument)
{
	struct memory_budget *budget = argument;
	size_t most = 0;

	for (int i = 0; i < ROUNDS; i++) {
		size_t taken, now;

		if (!memory_budget_take(budget, 1, &taken))
			continue;
		now = atomic_load(&budget->taken_bytes);
		most = now > most ? now : most;
		memory_budget_give(budget, taken);
	}
	return (void *)most;
}

static void never_gives_out_more_than_there_is(void **state)
{
	struct memory_budget budget;
	pthread_t takers[TAKERS];

	(void)state;
	memory_budget_init(&budget);
	memory_budget_set(&budget, 10, ROOM);
	for (int i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&takers[i], NULL, take_and_give, &budget), 0);
	for (int i = 0; i < TAKERS; i++) {
		void *most;

		assert_int_equal(pthread_join(takers[i], &most), 0);
		assert_true((size_t)most <= ROOM);
	}
	assert_int_equal(budget.taken_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_until_the_room_is_full),
		cmocka_unit_test(counts_nothing_without_a_limit),
		cmocka_unit_test(a_limit_that_falls_below_what_is_taken_leaves_nothing),
		cmocka_unit_test(what_is_kept_must_really_be_free),
		cmocka_unit_test(never_gives_out_more_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
