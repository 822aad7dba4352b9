#include "executors/timer_heap.h"

#include <stdlib.h>

#include "tests/with_cmocka.h"

enum { RANDOM_TIMERS = 300, RANDOM_STEPS = 20000 };

static struct timer_heap heap;

static int empty_heap(void **state)
{
	(void)state;
	timer_heap_init(&heap);
	return 0;
}

static int free_heap(void **state)
{
	(void)state;
	timer_heap_finish(&heap);
	return 0;
}

static int64_t take_first(void)
{
	struct timer *first = timer_heap_first(&heap);

	assert_non_null(first);
	timer_heap_remove(&heap, first);
	assert_false(timer_is_queued(first));
	return first->when_ns;
}

static void an_empty_heap_has_no_first(void **state)
{
	(void)state;
	assert_null(timer_heap_first(&heap));
}

static void removing_a_timer_outside_does_nothing(void **state)
{
	struct timer in = {.when_ns = 1}, out = {.when_ns = 2};

	(void)state;
	timer_heap_remove(&heap, &out);
	assert_int_equal(timer_heap_add(&heap, &in), 0);
	timer_heap_remove(&heap, &out);
	assert_ptr_equal(timer_heap_first(&heap), &in);
	timer_heap_remove(&heap, &in);
	timer_heap_remove(&heap, &in);
	assert_null(timer_heap_first(&heap));
}

static void timers_come_out_in_order(void **state)
{
	struct timer timers[100] = {0};

	(void)state;
	/* 37 and 100 have no common factor: every number once, in a scattered order. */
	for (int i = 0; i < 100; i++) {
		timers[i].when_ns = i * 37 % 100;
		assert_int_equal(timer_heap_add(&heap, &timers[i]), 0);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(take_first(), i);
	assert_null(timer_heap_first(&heap));
}

static void extreme_times_are_ordered_too(void **state)
{
	struct timer never = {.when_ns = INT64_MAX}, past = {.when_ns = INT64_MIN}, zero = {0};

	(void)state;
	assert_int_equal(timer_heap_add(&heap, &never), 0);
	assert_int_equal(timer_heap_add(&heap, &zero), 0);
	assert_int_equal(timer_heap_add(&heap, &past), 0);
	assert_true(take_first() == INT64_MIN);
	assert_true(take_first() == 0);
	assert_true(take_first() == INT64_MAX);
}

static void equal_times_all_come_out(void **state)
{
	struct timer timers[50] = {0};

	(void)state;
	for (int i = 0; i < 50; i++) {
		timers[i].when_ns = 7;
		assert_int_equal(timer_heap_add(&heap, &timers[i]), 0);
	}
	for (int i = 0; i < 50; i++)
		assert_int_equal(take_first(), 7);
	assert_null(timer_heap_first(&heap));
}

static void a_reserved_heap_does_not_move(void **state)
{
	struct timer timers[64] = {0};
	struct timer_heap_entry *entries;

	(void)state;
	assert_int_equal(timer_heap_reserve(&heap, 64), 0);
	entries = heap.entries;
	for (int i = 0; i < 64; i++)
		assert_int_equal(timer_heap_add(&heap, &timers[i]), 0);
	assert_ptr_equal(heap.entries, entries);
	assert_int_equal(timer_heap_reserve(&heap, 1), 0);
	assert_ptr_equal(heap.entries, entries);
}

/* The reference: look at every timer that is in. */
static const struct timer *earliest_of(const struct timer *timers, unsigned *count)
{
	const struct timer *earliest = NULL;

	*count = 0;
	for (int i = 0; i < RANDOM_TIMERS; i++) {
		if (!timer_is_queued(&timers[i]))
			continue;
		++*count;
		if (!earliest || timers[i].when_ns < earliest->when_ns)
			earliest = &timers[i];
	}
	return earliest;
}

static void agrees_with_a_search_through_random_operations(void **state)
{
	struct timer timers[RANDOM_TIMERS] = {0};
	unsigned short seed[3] = {1, 2, 3};

	(void)state;
	for (int step = 0; step < RANDOM_STEPS; step++) {
		struct timer *timer = &timers[nrand48(seed) % RANDOM_TIMERS];
		const struct timer *earliest;
		unsigned count;

		if (timer_is_queued(timer)) {
			timer_heap_remove(&heap, timer);
		} else {
			/* A narrow range, so that equal times are common. */
			timer->when_ns = nrand48(seed) % 200;
			assert_int_equal(timer_heap_add(&heap, timer), 0);
		}
		earliest = earliest_of(timers, &count);
		assert_int_equal(heap.count, count);
		if (earliest)
			assert_int_equal(timer_heap_first(&heap)->when_ns, earliest->when_ns);
		else
			assert_null(timer_heap_first(&heap));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_heap_has_no_first, empty_heap, free_heap),
		cmocka_unit_test_setup_teardown(removing_a_timer_outside_does_nothing, empty_heap,
	                                        free_heap),
		cmocka_unit_test_setup_teardown(timers_come_out_in_order, empty_heap, free_heap),
		cmocka_unit_test_setup_teardown(extreme_times_are_ordered_too, empty_heap,
	                                        free_heap),
		cmocka_unit_test_setup_teardown(equal_times_all_come_out, empty_heap, free_heap),
		cmocka_unit_test_setup_teardown(a_reserved_heap_does_not_move, empty_heap,
	                                        free_heap),
		cmocka_unit_test_setup_teardown(agrees_with_a_search_through_random_operations,
	                                        empty_heap, free_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
