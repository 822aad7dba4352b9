#include <stdio.h>
#include <stdlib.h>

#include "clients/upstream_set.h"
#include "server/slow_endpoint.h"
#include "tests/contract/many_calls.h"

/* Retries, the breaker and hedging as the upstream sees them: the slow endpoint counts what it is
 * sent. */

#define MS_NS INT64_C(1000000)

enum { PATIENCE_MS = 20000 };

static struct slow_endpoint *endpoint;
static struct executor *executor;
static struct resolver *resolver;
static struct wire_clients *wire;
static struct upstream_set *set;

static int start(void **state)
{
	(void)state;
	assert_int_equal(slow_endpoint_start(&(struct slow_endpoint_options){.host = "127.0.0.1",
	                                                                     .backlog = 4096},
	                                     &endpoint),
	                 0);
	executor = start_executor(500);
	assert_int_equal(resolver_create(&(struct resolver_options){.offload = lanes_for_tests()},
	                                 &resolver),
	                 0);
	return wire_clients_create(&(struct wire_clients_options){.resolver = resolver}, &wire);
}

static int stop(void **state)
{
	(void)state;
	upstream_set_release(set);
	set = NULL;
	executor_destroy(executor);
	wire_clients_destroy(wire);
	resolver_destroy(resolver);
	slow_endpoint_stop(endpoint);
	return 0;
}

static void configure(struct upstream_settings settings)
{
	char url[64];
	size_t faulty;

	assert_true(snprintf(url, sizeof(url), "http://127.0.0.1:%u",
	                     (unsigned)slow_endpoint_port(endpoint)) > 0);
	settings.url = url;
	settings.wire.connect_timeout_ms = PATIENCE_MS;
	assert_int_equal(upstream_set_create(&(struct upstream_set_options){.upstreams = &settings,
	                                                                    .count = 1,
	                                                                    .wire = wire},
	                                     &set, &faulty),
	                 0);
}

/* Make @count calls of /slow with @query. */
static void call(unsigned count, unsigned at_once, const char *query, struct http_call like)
{
	const struct named_upstream *upstream = upstream_set_find(set, NULL);
	char url[256];
	int length = snprintf(url, sizeof(url), "%s/slow?%s", upstream->origin, query);

	assert_in_range(length, 1, sizeof(url) - 1);
	like.url = url;
	make_calls(executor, &(struct many_calls){.client = upstream->client,
	                                          .count = count,
	                                          .max_parallel = at_once,
	                                          .like = like});
}

static struct slow_endpoint_stats seen(void)
{
	struct slow_endpoint_stats now;

	slow_endpoint_stats(endpoint, &now);
	return now;
}

static struct upstream_stats stats(void)
{
	struct upstream_stats now;

	upstream_set_stats_at(set, 0, &now);
	return now;
}

static const struct retry_settings quick = {.attempts = 4, .base_ms = 1, .max_ms = 10};

static void an_upstream_that_fails_all_gets_a_fifth_more_at_most(void **state)
{
	(void)state;
	configure((struct upstream_settings){.retry = quick});
	call(1000, 100, "ms=0&status=503", (struct http_call){0});
	assert_int_equal(count_answered(503), 1000);
	assert_in_range(seen().total, 1100, 1200);
	assert_int_equal(seen().total, count_attempts());
	assert_int_equal(seen().total, stats().attempts);
}

static void so_does_one_that_resets_connections(void **state)
{
	(void)state;
	configure((struct upstream_settings){.retry = quick});
	call(500, 50, "ms=0&fault=reset", (struct http_call){0});
	assert_int_equal(count_failed(HTTP_RESET), 500);
	assert_in_range(seen().total, 550, 600);
}

static void a_post_without_a_key_is_sent_once(void **state)
{
	(void)state;
	configure((struct upstream_settings){.retry = quick, .hedge = HEDGE_DEFAULTS});
	call(200, 50, "ms=0&status=503", (struct http_call){.method = "POST"});
	assert_int_equal(seen().total, 200);
	call(200, 50, "ms=0&fault=reset", (struct http_call){.method = "POST"});
	assert_int_equal(seen().total, 400);
	call(10, 1, "ms=0&status=503", (struct http_call){.method = "POST", .repeatable = true});
	assert_in_range(seen().total, 430, 440);
}

static void an_upstream_that_asks_for_a_second_gets_it(void **state)
{
	(void)state;
	configure((struct upstream_settings){.retry = {.attempts = 2, .base_ms = 1, .max_ms = 1}});
	call(30, 30, "ms=0&status=503&retry_after=1", (struct http_call){0});
	assert_int_equal(seen().total, 60);
	for (unsigned i = 0; i < 30; i++) {
		assert_int_equal(made_call(i)->attempts, 2);
		assert_true(made_call(i)->elapsed_ns >= 1000 * MS_NS);
	}
	/* Without the time for it there is no second attempt, and no wait for one. */
	call(10, 10, "ms=0&status=503&retry_after=1", (struct http_call){.timeout_ms = 900});
	assert_int_equal(seen().total, 70);
	assert_int_equal(count_answered(503), 10);
}

static int64_t largest_elapsed_ns(enum http_failure failure, unsigned count, unsigned but)
{
	int64_t *elapsed_ns = calloc(count, sizeof(*elapsed_ns));
	int64_t result;

	assert_non_null(elapsed_ns);
	for (unsigned i = 0; i < count; i++) {
		const struct http_call *made = made_call(i);
		unsigned at = i;

		if (made->failure != failure)
			continue;
		for (; at > 0 && elapsed_ns[at - 1] > made->elapsed_ns; at--)
			elapsed_ns[at] = elapsed_ns[at - 1];
		elapsed_ns[at] = made->elapsed_ns;
	}
	result = elapsed_ns[count - 1 - but];
	free(elapsed_ns);
	return result;
}

static int sleep_for_a_moment(void *arg)
{
	(void)arg;
	return task_sleep_until(deadline_in_ms(20));
}

static bool breaker_becomes(enum breaker_state wanted, const char *query)
{
	struct deadline patience = deadline_in_ms(PATIENCE_MS);

	while (stats().breaker != wanted && deadline_remaining_ns(patience) > 0) {
		call(20, 20, query, (struct http_call){0});
		assert_int_equal(run_in_task(executor, sleep_for_a_moment, NULL), 0);
	}
	return stats().breaker == wanted;
}

static void the_breaker_opens_and_closes_with_the_upstream(void **state)
{
	struct breaker_settings settings = BREAKER_DEFAULTS;
	int64_t began_ns;
	uint64_t total;

	(void)state;
	settings.open_ms = 300;
	configure((struct upstream_settings){.breaker = settings});
	call(500, 50, "ms=1", (struct http_call){0});
	assert_int_equal(count_answered(200), 500);
	began_ns = deadline_now_ns();
	assert_true(breaker_becomes(BREAKER_OPEN, "ms=1&status=500"));
	assert_true(deadline_now_ns() - began_ns < 10000 * MS_NS);

	total = seen().total;
	call(500, 50, "ms=1&status=500", (struct http_call){0});
	assert_in_range(seen().total, total, total + 10); /* probes */
	assert_true(count_failed(HTTP_BREAKER) >= 490);
	assert_true(largest_elapsed_ns(HTTP_BREAKER, 500, 250) < 1 * MS_NS);

	began_ns = deadline_now_ns();
	assert_true(breaker_becomes(BREAKER_CLOSED, "ms=1"));
	assert_true(deadline_now_ns() - began_ns < 10000 * MS_NS);
	call(200, 50, "ms=1", (struct http_call){0});
	assert_int_equal(count_answered(200), 200);
}

static void hedging_hides_the_slow_ones_for_few_calls_more(void **state)
{
	(void)state;
	configure((struct upstream_settings){.hedge = HEDGE_DEFAULTS});
	call(1000, 40, "ms=10&slow_percent=5&slow_ms=600", (struct http_call){0});
	assert_int_equal(count_answered(200), 1000);
	/* The first few come before it is known what is slow. */
	assert_true(largest_elapsed_ns(HTTP_OK, 1000, 10) < 400 * MS_NS);
	assert_in_range(seen().total, 1000, 1070);
	assert_int_equal(count_attempts(), seen().total);
	assert_true(stats().hedges_won > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(
			an_upstream_that_fails_all_gets_a_fifth_more_at_most, start, stop),
		cmocka_unit_test_setup_teardown(so_does_one_that_resets_connections, start, stop),
		cmocka_unit_test_setup_teardown(a_post_without_a_key_is_sent_once, start, stop),
		cmocka_unit_test_setup_teardown(an_upstream_that_asks_for_a_second_gets_it, start,
	                                        stop),
		cmocka_unit_test_setup_teardown(the_breaker_opens_and_closes_with_the_upstream,
	                                        start, stop),
		cmocka_unit_test_setup_teardown(hedging_hides_the_slow_ones_for_few_calls_more,
	                                        start, stop),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
