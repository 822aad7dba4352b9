#include <stdatomic.h>

#include "clients/breaker_client.h"
#include "clients/upstream.h"
#include "tests/contract/many_calls.h"
#include "tests/fakes/scripted_client.h"

/* A client with a breaker, before one that answers as the test wants it to. */

#define MS_NS INT64_C(1000000)
#define FOR_EVER INT64_MAX

enum { MIN_CALLS = 20, PATIENCE_MS = 20000 };

static const struct breaker_settings settings = {
	.error_percent = 50, .min_calls = MIN_CALLS, .window_ms = 10000, .open_ms = 50};

static struct executor *executor;
static struct http_client *client, *scripted;

/* What the upstream does from now on. */
static _Atomic(const struct scripted_reply *) reply_now;

static void reply_as_wanted(void *arg, const struct http_call *call, unsigned index,
                            struct scripted_reply *reply)
{
	(void)arg;
	(void)call;
	(void)index;
	*reply = *atomic_load(&reply_now);
}

static const struct scripted_reply good = {.status = 200}, bad = {.status = 500},
				   refused = {.failure = HTTP_CONNECT},
				   hanging = {.delay_ns = FOR_EVER}, missing = {.status = 404};

static void start_with(unsigned open_ms)
{
	struct breaker_settings wanted = settings;

	wanted.open_ms = open_ms;
	executor = start_executor(200);
	assert_int_equal(scripted_client_create(
				 &(struct scripted_options){.adjust = reply_as_wanted}, &scripted),
	                 0);
	assert_int_equal(breaker_client_create(scripted, &wanted, &client), 0);
}

static int start(void **state)
{
	(void)state;
	start_with(settings.open_ms);
	return 0;
}

static int start_with_long_pauses(void **state)
{
	(void)state;
	start_with(3600 * 1000);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	executor_destroy(executor);
	http_client_destroy(client);
	return 0;
}

static unsigned seen(void)
{
	struct scripted_stats stats;

	scripted_client_stats(scripted, &stats);
	return stats.calls;
}

static struct breaker_stats stats(void)
{
	struct breaker_stats now;

	breaker_client_stats(client, &now);
	return now;
}

static void call_while(const struct scripted_reply *reply, unsigned count)
{
	atomic_store(&reply_now, reply);
	make_calls(executor, &(struct many_calls){.client = client,
	                                          .count = count,
	                                          .max_parallel = 1,
	                                          .like.timeout_ms = PATIENCE_MS});
}

static void an_upstream_that_fails_is_left_alone(void **state)
{
	(void)state;
	call_while(&bad, MIN_CALLS + 80);
	assert_int_equal(seen(), MIN_CALLS);
	assert_int_equal(count_answered(500), MIN_CALLS);
	assert_int_equal(count_failed(HTTP_BREAKER), 80);
	assert_string_equal(http_failure_name(made_call(MIN_CALLS + 79)->failure), "breaker");
	assert_int_equal(made_call(MIN_CALLS)->attempts, 0);
	assert_non_null(made_call(MIN_CALLS)->reason);
	assert_int_equal(stats().opened, 1);
}

/* Calls until one gets through. */
static bool recovers(void)
{
	struct deadline patience = deadline_in_ms(PATIENCE_MS);

	while (deadline_remaining_ns(patience) > 0) {
		call_while(&good, 1);
		if (count_answered(200) == 1)
			return true;
	}
	return false;
}

static void an_upstream_that_has_recovered_is_called_again(void **state)
{
	(void)state;
	call_while(&refused, MIN_CALLS);
	assert_int_equal(stats().state, BREAKER_OPEN);
	assert_true(recovers());
	assert_int_equal(stats().state, BREAKER_CLOSED);
	call_while(&good, 50);
	assert_int_equal(count_answered(200), 50);
}

static int make_way_for_a_probe(void *arg)
{
	(void)arg;
	return task_sleep_until(deadline_in_ms(settings.open_ms));
}

static void while_a_probe_is_under_way_there_is_no_other(void **state)
{
	const struct scripted_reply slow = {.status = 200, .delay_ns = 20 * MS_NS};
	unsigned before;

	(void)state;
	call_while(&bad, MIN_CALLS);
	before = seen();
	assert_int_equal(run_in_task(executor, make_way_for_a_probe, NULL), 0);
	atomic_store(&reply_now, &slow);
	make_calls(executor, &(struct many_calls){.client = client, .count = 100});
	/* Tasks that come to run late may find it closed again. */
	assert_true(seen() - before >= 1);
	assert_int_equal(count_failed(HTTP_BREAKER) + count_answered(200), 100);
	assert_int_equal(count_answered(200), seen() - before);
	assert_int_equal(stats().state, BREAKER_CLOSED);
}

static void calls_that_are_cancelled_say_nothing(void **state)
{
	(void)state;
	atomic_store(&reply_now, &hanging);
	make_calls(executor, &(struct many_calls){.client = client,
	                                          .count = 100,
	                                          .cancel_after_ns = 20 * MS_NS});
	assert_int_equal(count_failed(HTTP_CANCELED), 100);
	assert_int_equal(stats().state, BREAKER_CLOSED);
}

static void answers_of_an_upstream_that_works_do_not_open_it(void **state)
{
	(void)state;
	call_while(&missing, 5 * MIN_CALLS);
	assert_int_equal(count_answered(404), 5 * MIN_CALLS);
	assert_int_equal(stats().state, BREAKER_CLOSED);
}

static void timeouts_open_it(void **state)
{
	(void)state;
	atomic_store(&reply_now, &hanging);
	make_calls(executor,
	           &(struct many_calls){.client = client, .count = 100, .like.timeout_ms = 10});
	assert_true(stats().opened >= 1);
	assert_true(count_failed(HTTP_TIMEOUT) >= MIN_CALLS);
}

static void calls_that_never_got_there_do_not_open_it(void **state)
{
	struct upstream_limits limits = {.permits = 1, .permit_wait_ms = 60000};
	struct http_client *inner, *limited;

	(void)state;
	assert_int_equal(scripted_client_create(
				 &(struct scripted_options){.adjust = reply_as_wanted}, &inner),
	                 0);
	assert_int_equal(upstream_client_create(inner, &limits, &limited), 0);
	http_client_destroy(client);
	assert_int_equal(breaker_client_create(limited, &settings, &client), 0);
	atomic_store(&reply_now, &hanging);
	make_calls(executor, &(struct many_calls){.client = client,
	                                          .count = 100,
	                                          .deadline = deadline_in_ms(50)});
	assert_int_equal(count_failed(HTTP_TIMEOUT), 100);
	assert_int_equal(count_attempts(), 1);
	assert_int_equal(stats().state, BREAKER_CLOSED);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(an_upstream_that_fails_is_left_alone,
	                                        start_with_long_pauses, stop),
		cmocka_unit_test_setup_teardown(an_upstream_that_has_recovered_is_called_again,
	                                        start, stop),
		cmocka_unit_test_setup_teardown(while_a_probe_is_under_way_there_is_no_other, start,
	                                        stop),
		cmocka_unit_test_setup_teardown(calls_that_are_cancelled_say_nothing, start, stop),
		cmocka_unit_test_setup_teardown(answers_of_an_upstream_that_works_do_not_open_it,
	                                        start, stop),
		cmocka_unit_test_setup_teardown(timeouts_open_it, start, stop),
		cmocka_unit_test_setup_teardown(calls_that_never_got_there_do_not_open_it, start,
	                                        stop),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
