#include "clients/retry.h"
#include "tests/with_cmocka.h"

#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

static const struct retry_settings settings = {.attempts = 9, .base_ms = 50, .max_ms = 1000};

static void an_answer_that_may_pass_is_worth_another_attempt(void **state)
{
	static const int passing[] = {429, 502, 503, 504};
	static const int lasting[] = {200, 201, 304, 400, 401, 404, 409, 500, 501, 505};

	(void)state;
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		assert_true(retry_is_worth_it(&(struct http_call){.status = passing[i]}));
	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		assert_false(retry_is_worth_it(&(struct http_call){.status = lasting[i]}));
}

static void a_failure_before_the_first_byte_is_worth_another_attempt(void **state)
{
	(void)state;
	for (int failure = HTTP_OK + 1; failure < HTTP_FAILURES; failure++) {
		struct http_call call = {.failure = (enum http_failure)failure};

		assert_int_equal(retry_is_worth_it(&call),
		                 failure == HTTP_CONNECT || failure == HTTP_RESET);
	}
	assert_false(
		retry_is_worth_it(&(struct http_call){.failure = HTTP_RESET, .replied = true}));
}

static void only_what_may_be_sent_twice_is_sent_again(void **state)
{
	struct http_call call = {.method = "POST", .failure = HTTP_CONNECT};

	(void)state;
	assert_false(retry_is_worth_it(&call));
	call.failure = HTTP_OK;
	call.status = 503;
	assert_false(retry_is_worth_it(&call));
	call.repeatable = true;
	assert_true(retry_is_worth_it(&call));
	call.repeatable = false;
	call.method = "PUT";
	assert_true(retry_is_worth_it(&call));
}

static void pauses_lie_anywhere_below_a_limit_that_doubles(void **state)
{
	static const int64_t limits_ms[] = {50, 100, 200, 400, 800, 1000, 1000, 1000};
	struct retry_random random = {.state = 1};
	struct http_call call = {0};

	(void)state;
	for (unsigned made = 1; made <= 8; made++) {
		int64_t limit_ns = limits_ms[made - 1] * MS_NS, least = INT64_MAX, most = 0;

		for (int i = 0; i < 1000; i++) {
			int64_t pause_ns = retry_pause_ns(&settings, made, &call, &random);

			least = pause_ns < least ? pause_ns : least;
			most = pause_ns > most ? pause_ns : most;
		}
		assert_in_range(least, 0, limit_ns / 20);
		assert_in_range(most, limit_ns - limit_ns / 20, limit_ns);
	}
}

static void the_same_seed_gives_the_same_pauses(void **state)
{
	struct retry_random a = {.state = 42}, b = {.state = 42}, c = {.state = 43};
	struct http_call call = {0};
	unsigned differing = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		int64_t pause_ns = retry_pause_ns(&settings, 3, &call, &a);

		assert_int_equal(pause_ns, retry_pause_ns(&settings, 3, &call, &b));
		differing += pause_ns != retry_pause_ns(&settings, 3, &call, &c);
	}
	assert_true(differing > 90);
}

/* The first two numbers of the reference implementation: https://prng.di.unimi.it/splitmix64.c */
static void random_numbers_are_those_of_splitmix64(void **state)
{
	struct retry_random random = {.state = 1234567};

	(void)state;
	assert_true(retry_random_upto(&random, UINT64_MAX) == UINT64_C(6457827717110365317));
	assert_true(retry_random_upto(&random, UINT64_MAX) == UINT64_C(3203168211198807973));
}

static void no_attempt_comes_before_the_server_wants_it(void **state)
{
	struct retry_random random = {.state = 7};
	struct http_call call = {.status = 503, .has_retry_after = true, .retry_after_s = 2};

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_in_range(retry_pause_ns(&settings, 1, &call, &random), 2 * SECOND_NS,
		                2 * SECOND_NS + 50 * MS_NS);
}

static void an_endless_wish_of_the_server_does_not_overflow(void **state)
{
	struct retry_random random = {.state = 7};
	struct http_call call = {.has_retry_after = true, .retry_after_s = UINT32_MAX};
	int64_t pause_ns = retry_pause_ns(&settings, 1, &call, &random);

	(void)state;
	assert_true(pause_ns >= UINT32_MAX * SECOND_NS);
	assert_false(retry_has_time(SECOND_NS, pause_ns, 0, (struct deadline){9 * SECOND_NS}));
	assert_true(retry_has_time(SECOND_NS, pause_ns, 0, DEADLINE_NEVER));
}

static void an_attempt_needs_as_much_time_as_the_last_one_took(void **state)
{
	struct deadline until = {1000};

	(void)state;
	assert_true(retry_has_time(900, 50, 49, until));
	assert_false(retry_has_time(900, 50, 50, until));
	assert_false(retry_has_time(900, 100, 0, until));
	assert_false(retry_has_time(1001, 0, 0, until));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(an_answer_that_may_pass_is_worth_another_attempt),
		cmocka_unit_test(a_failure_before_the_first_byte_is_worth_another_attempt),
		cmocka_unit_test(only_what_may_be_sent_twice_is_sent_again),
		cmocka_unit_test(pauses_lie_anywhere_below_a_limit_that_doubles),
		cmocka_unit_test(the_same_seed_gives_the_same_pauses),
		cmocka_unit_test(random_numbers_are_those_of_splitmix64),
		cmocka_unit_test(no_attempt_comes_before_the_server_wants_it),
		cmocka_unit_test(an_endless_wish_of_the_server_does_not_overflow),
		cmocka_unit_test(an_attempt_needs_as_much_time_as_the_last_one_took),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
