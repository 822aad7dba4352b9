#include <stdatomic.h>

#include "clients/hedge_client.h"
#include "tests/contract/many_calls.h"
#include "tests/fakes/scripted_client.h"

/* A client that makes slow calls a second time, before one that answers as the test wants it to. */

#define MS_NS INT64_C(1000000)
#define FOR_EVER INT64_MAX

enum { AT_ONCE = 400, TRIES = 50 };

static const struct hedge_settings settings = {.percentile = 95, .budget_percent = 100};

static struct executor *executor;
static struct http_client *client, *scripted;

/* What the next attempts get, in turn, and all further ones that which ends it. */
static struct scripted_reply script[2 * TRIES];
static atomic_uint script_next;
static unsigned script_length;

static void reply_by_script(void *arg, const struct http_call *call, unsigned index,
                            struct scripted_reply *reply)
{
	unsigned next = atomic_fetch_add(&script_next, 1);

	(void)arg;
	(void)call;
	(void)index;
	*reply = script[next < script_length ? next : script_length];
}

static void set_script(const struct scripted_reply *replies, unsigned count)
{
	assert_true(count < 2 * TRIES);
	for (unsigned i = 0; i < count; i++)
		script[i] = replies[i];
	script[count] = (struct scripted_reply){.delay_ns = 20 * MS_NS};
	script_length = count;
	atomic_store(&script_next, 0);
}

static void start_with(const struct hedge_settings *wanted, const struct executor_options *options)
{
	executor = start_executor_with(options);
	assert_int_equal(scripted_client_create(
				 &(struct scripted_options){.adjust = reply_by_script}, &scripted),
	                 0);
	assert_int_equal(hedge_client_create(scripted, wanted, &client), 0);
	set_script(NULL, 0);
}

static int start(void **state)
{
	struct executor_options options = options_for(AT_ONCE);

	(void)state;
	start_with(&settings, &options);
	return 0;
}

static int stop(void **state)
{
	struct scripted_stats stats;

	(void)state;
	scripted_client_stats(scripted, &stats);
	assert_int_equal(stats.in_flight, 0);
	executor_destroy(executor);
	http_client_destroy(client);
	return 0;
}

static struct hedge_stats stats(void)
{
	struct hedge_stats now;

	hedge_client_stats(client, &now);
	return now;
}

/* Let it find out what a call takes. */
static void let_it_learn(void)
{
	set_script(NULL, 0);
	make_calls(executor, &(struct many_calls){.client = client, .count = HEDGE_LEAST_CALLS});
	assert_true(stats().delay_ns < INT64_MAX);
}

/* Whether the next call gets a second attempt, which is a matter of threads: on a machine that is
 * busy the first may be so late that there is none, or that it comes after the second. */
static bool is_hedged(const struct scripted_reply replies[2], struct http_call like)
{
	uint64_t before = stats().hedges;

	set_script(replies, 2);
	make_calls(executor, &(struct many_calls){.client = client, .count = 1, .like = like});
	return stats().hedges > before;
}

/* Try until it is, or is not. @replies are those of the first attempt and of the second. */
static const struct http_call *make(bool hedged, const struct scripted_reply replies[2],
                                    struct http_call like)
{
	for (int i = 0; i < TRIES; i++) {
		if (is_hedged(replies, like) == hedged)
			return made_call(0);
		let_it_learn();
	}
	fail_msg("each of %d calls was %s", TRIES, hedged ? "made once" : "made twice");
	return NULL;
}

static void a_second_attempt_answers_for_a_slow_first(void **state)
{
	struct scripted_reply replies[] = {{.delay_ns = 300 * MS_NS, .bytes = 3}, {.bytes = 8}};
	const struct http_call *made;

	(void)state;
	let_it_learn();
	made = make(true, replies, (struct http_call){0});
	assert_int_equal(made->failure, HTTP_OK);
	assert_int_equal(made->reply_len, 8);
	assert_int_equal(made->attempts, 2);
	assert_true(stats().won >= 1);
	assert_true(made->until.ns == DEADLINE_NEVER.ns);
}

static void a_first_attempt_that_is_faster_after_all_counts(void **state)
{
	struct scripted_reply replies[] = {{.delay_ns = 100 * MS_NS, .bytes = 3},
	                                   {.delay_ns = FOR_EVER}};
	const struct http_call *made;

	(void)state;
	let_it_learn();
	made = make(true, replies, (struct http_call){0});
	assert_int_equal(made->failure, HTTP_OK);
	assert_int_equal(made->reply_len, 3);
	assert_int_equal(made->attempts, 2);
	assert_int_equal(stats().won, 0);
}

static void the_failure_of_one_leaves_it_to_the_other(void **state)
{
	struct scripted_reply first_fails[] = {{.delay_ns = 100 * MS_NS, .failure = HTTP_RESET},
	                                       {.delay_ns = 200 * MS_NS, .bytes = 8}};
	struct scripted_reply second_fails[] = {{.delay_ns = 100 * MS_NS, .bytes = 3},
	                                        {.status = 503, .bytes = 900}};

	(void)state;
	let_it_learn();
	assert_int_equal(make(true, first_fails, (struct http_call){0})->reply_len, 8);
	let_it_learn();
	assert_int_equal(make(true, second_fails, (struct http_call){0})->reply_len, 3);
}

static void when_both_fail_the_first_tells_why(void **state)
{
	struct scripted_reply replies[] = {{.delay_ns = 100 * MS_NS, .failure = HTTP_PROTOCOL},
	                                   {.failure = HTTP_CONNECT}};

	(void)state;
	let_it_learn();
	assert_int_equal(make(true, replies, (struct http_call){0})->failure, HTTP_PROTOCOL);
}

static void a_quick_failure_is_not_made_twice(void **state)
{
	struct scripted_reply replies[] = {{.failure = HTTP_RESET}, {.bytes = 8}};
	const struct http_call *made;

	(void)state;
	let_it_learn();
	made = make(false, replies, (struct http_call){0});
	assert_int_equal(made->failure, HTTP_RESET);
	assert_int_equal(made->attempts, 1);
}

static void what_must_not_be_sent_twice_is_not(void **state)
{
	struct scripted_reply replies[] = {{.delay_ns = 100 * MS_NS, .bytes = 3}, {.bytes = 8}};

	(void)state;
	let_it_learn();
	assert_false(is_hedged(replies, (struct http_call){.method = "POST"}));
	assert_int_equal(made_call(0)->reply_len, 3);
	let_it_learn();
	assert_int_equal(
		make(true, replies, (struct http_call){.method = "POST", .repeatable = true})
			->reply_len,
		8);
}

static void both_attempts_end_with_the_timeout(void **state)
{
	struct scripted_reply replies[] = {{.delay_ns = FOR_EVER}, {.delay_ns = FOR_EVER}};

	(void)state;
	let_it_learn();
	assert_int_equal(make(true, replies, (struct http_call){.timeout_ms = 100})->failure,
	                 HTTP_TIMEOUT);
}

static void both_attempts_end_when_the_call_is_cancelled(void **state)
{
	struct scripted_reply replies[2 * TRIES - 1];

	(void)state;
	let_it_learn();
	for (unsigned i = 0; i < 2 * TRIES - 1; i++)
		replies[i] = (struct scripted_reply){.delay_ns = FOR_EVER};
	set_script(replies, 2 * TRIES - 1);
	make_calls(executor, &(struct many_calls){.client = client,
	                                          .count = 40,
	                                          .cancel_after_ns = 100 * MS_NS});
	assert_int_equal(count_failed(HTTP_CANCELED), 40);
}

static void without_budget_a_slow_call_goes_on_alone(void **state)
{
	const struct hedge_settings frugal = {.percentile = 95, .budget_percent = 1};
	struct executor_options options = options_for(AT_ONCE);
	struct scripted_reply slow[60];

	(void)state;
	start_with(&frugal, &options);
	let_it_learn();
	for (unsigned i = 0; i < 60; i++)
		slow[i] = (struct scripted_reply){.delay_ns = 60 * MS_NS, .bytes = 3};
	set_script(slow, 60);
	make_calls(executor, &(struct many_calls){.client = client, .count = 50});
	assert_int_equal(count_answered(200), 50);
	assert_in_range(stats().hedges, 0, HEDGE_BUDGET_FIRST);
	stop(state);
}

static void without_a_task_for_it_an_attempt_is_made_by_the_caller(void **state)
{
	struct executor_options options = options_for(AT_ONCE);
	struct scripted_reply replies[] = {{.delay_ns = 60 * MS_NS, .bytes = 3}, {.bytes = 8}};

	(void)state;
	options.max_tasks = 2; /* the test's and that of the call */
	start_with(&settings, &options);
	for (unsigned i = 0; i < HEDGE_LEAST_CALLS; i++)
		make_calls(executor, &(struct many_calls){.client = client, .count = 1});
	assert_true(stats().delay_ns < INT64_MAX);
	assert_false(is_hedged(replies, (struct http_call){0}));
	assert_int_equal(made_call(0)->reply_len, 3);
	assert_int_equal(made_call(0)->attempts, 1);
	stop(state);
}

/* Every thread of the pool has a call, and none is left for the attempts. */
static void a_pool_that_is_full_makes_all_calls(void **state)
{
	struct executor_options options = options_for(5);

	(void)state;
	start_with(&settings, &options);
	let_it_learn();
	make_calls(executor, &(struct many_calls){.client = client, .count = 100});
	assert_int_equal(count_answered(200), 100);
	stop(state);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(a_second_attempt_answers_for_a_slow_first, start,
	                                        stop),
		cmocka_unit_test_setup_teardown(a_first_attempt_that_is_faster_after_all_counts,
	                                        start, stop),
		cmocka_unit_test_setup_teardown(the_failure_of_one_leaves_it_to_the_other, start,
	                                        stop),
		cmocka_unit_test_setup_teardown(when_both_fail_the_first_tells_why, start, stop),
		cmocka_unit_test_setup_teardown(a_quick_failure_is_not_made_twice, start, stop),
		cmocka_unit_test_setup_teardown(what_must_not_be_sent_twice_is_not, start, stop),
		cmocka_unit_test_setup_teardown(both_attempts_end_with_the_timeout, start, stop),
		cmocka_unit_test_setup_teardown(both_attempts_end_when_the_call_is_cancelled, start,
	                                        stop),
		cmocka_unit_test(without_budget_a_slow_call_goes_on_alone),
		cmocka_unit_test(without_a_task_for_it_an_attempt_is_made_by_the_caller),
		cmocka_unit_test(a_pool_that_is_full_makes_all_calls),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
