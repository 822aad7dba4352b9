#include "clients/retry_client.h"
#include "clients/upstream.h"
#include "tests/contract/many_calls.h"
#include "tests/fakes/scripted_client.h"

/* A client that tries again, before one that answers from a script. */

#define MS_NS INT64_C(1000000)

static const struct retry_settings quick = {.attempts = 4, .base_ms = 1, .max_ms = 2};

static struct executor *executor;
static struct http_client *client, *scripted;

static void start(const struct scripted_options *options, const struct retry_settings *settings)
{
	executor = start_executor(1001);
	assert_int_equal(scripted_client_create(options, &scripted), 0);
	assert_int_equal(retry_client_create(scripted, settings, 1, &client), 0);
}

static void stop(void)
{
	executor_destroy(executor);
	http_client_destroy(client);
}

static unsigned seen(void)
{
	struct scripted_stats stats;

	scripted_client_stats(scripted, &stats);
	return stats.calls;
}

static struct retry_stats stats(void)
{
	struct retry_stats now;

	retry_client_stats(client, &now);
	return now;
}

/* What became of one call. */
static const struct http_call *call_like(struct http_call like)
{
	make_calls(executor, &(struct many_calls){.client = client, .count = 1, .like = like});
	return made_call(0);
}

static void what_may_pass_is_tried_again_until_there_is_an_answer(void **state)
{
	struct scripted_reply replies[] = {{.failure = HTTP_CONNECT},
	                                   {.failure = HTTP_RESET},
	                                   {.status = 503, .bytes = 100},
	                                   {.bytes = 7}};
	const struct http_call *made;

	(void)state;
	start(&(struct scripted_options){.replies = replies, .reply_count = 4}, &quick);
	made = call_like((struct http_call){0});
	assert_int_equal(made->failure, HTTP_OK);
	assert_int_equal(made->status, 200);
	assert_int_equal(made->reply_len, 7);
	assert_int_equal(made->attempts, 4);
	assert_null(made->reason);
	assert_int_equal(stats().retries, 3);
	stop();
}

static void the_last_outcome_stands_when_all_attempts_are_made(void **state)
{
	struct scripted_reply replies[] = {
		{.status = 503, .bytes = 9, .has_retry_after = true, .retry_after_s = 0},
		{.status = 502},
		{.status = 504},
		{.failure = HTTP_CONNECT}};
	const struct http_call *made;

	(void)state;
	start(&(struct scripted_options){.replies = replies, .reply_count = 4}, &quick);
	made = call_like((struct http_call){0});
	assert_int_equal(made->failure, HTTP_CONNECT);
	assert_string_equal(made->reason, "as scripted");
	assert_int_equal(made->attempts, 4);
	assert_int_equal(made->status, 0);
	assert_int_equal(made->reply_len, 0);
	assert_false(made->has_retry_after);
	assert_false(made->replied);
	stop();
}

static void what_will_not_pass_is_left_at_one_attempt(void **state)
{
	struct scripted_reply replies[] = {{.status = 500},
	                                   {.status = 404},
	                                   {.failure = HTTP_RESET, .replied = true},
	                                   {.failure = HTTP_TLS},
	                                   {.failure = HTTP_NO_PERMIT},
	                                   {.failure = HTTP_BREAKER}};

	(void)state;
	start(&(struct scripted_options){.replies = replies, .reply_count = 6}, &quick);
	make_calls(executor, &(struct many_calls){.client = client, .count = 6});
	assert_int_equal(seen(), 6);
	stop();
}

static void a_post_is_sent_once_and_with_a_key_again(void **state)
{
	struct scripted_reply reply = {.failure = HTTP_CONNECT};

	(void)state;
	start(&(struct scripted_options){.replies = &reply, .reply_count = 1}, &quick);
	make_calls(executor,
	           &(struct many_calls){.client = client, .count = 50, .like.method = "POST"});
	assert_int_equal(seen(), 50);
	assert_int_equal(
		call_like((struct http_call){.method = "POST", .repeatable = true})->attempts, 4);
	stop();
}

static void an_upstream_that_fails_all_gets_a_fifth_more_at_most(void **state)
{
	struct scripted_reply reply = {.status = 503};

	(void)state;
	start(&(struct scripted_options){.replies = &reply, .reply_count = 1}, &quick);
	make_calls(executor, &(struct many_calls){.client = client, .count = 1000});
	assert_int_equal(count_answered(503), 1000);
	assert_in_range(seen(), 1150, 1200);
	assert_int_equal(count_attempts(), seen());
	assert_int_equal(stats().retries, seen() - 1000);
	assert_in_range(stats().refused, 500, 1000);
	stop();
}

static int64_t last_until_ns, first_start_ns;

static void note_end(void *arg, const struct http_call *call, unsigned index,
                     struct scripted_reply *reply)
{
	(void)arg;
	*reply = (struct scripted_reply){.status = 503, .delay_ns = 30 * MS_NS};
	if (index == 0)
		first_start_ns = call->started_ns;
	else if (call->until.ns > last_until_ns)
		last_until_ns = call->until.ns;
}

static void one_timeout_holds_for_all_attempts_together(void **state)
{
	const struct http_call *made;

	(void)state;
	last_until_ns = 0;
	start(&(struct scripted_options){.adjust = note_end},
	      &(struct retry_settings){.attempts = 10, .base_ms = 1, .max_ms = 1});
	made = call_like((struct http_call){.timeout_ms = 200});
	assert_in_range(made->attempts, 2, 6); /* of 30 ms each */
	assert_int_equal(last_until_ns, first_start_ns + 200 * MS_NS);
	assert_int_equal(made->started_ns, first_start_ns);
	assert_true(made->until.ns == DEADLINE_NEVER.ns);
	assert_true(made->elapsed_ns >= 30 * MS_NS * made->attempts);
	stop();
}

static void no_attempt_is_made_that_could_not_end_in_time(void **state)
{
	struct scripted_reply reply = {
		.status = 503, .bytes = 5, .has_retry_after = true, .retry_after_s = 3600};
	const struct http_call *made;

	(void)state;
	start(&(struct scripted_options){.replies = &reply, .reply_count = 1}, &quick);
	make_calls(executor, &(struct many_calls){.client = client,
	                                          .count = 1,
	                                          .deadline = deadline_in_ms(60000)});
	made = made_call(0);
	assert_int_equal(made->failure, HTTP_OK);
	assert_int_equal(made->status, 503);
	assert_int_equal(made->reply_len, 5);
	assert_int_equal(made->attempts, 1);
	assert_int_equal(stats().refused, 0);
	stop();
}

static void ask_for_a_second(void *arg, const struct http_call *call, unsigned index,
                             struct scripted_reply *reply)
{
	(void)arg;
	(void)index;
	*reply = (struct scripted_reply){.status = call->attempts == 0 ? 503 : 200,
	                                 .has_retry_after = true,
	                                 .retry_after_s = 1};
}

static void a_server_that_asks_for_a_second_gets_it(void **state)
{
	(void)state;
	start(&(struct scripted_options){.adjust = ask_for_a_second}, &quick);
	make_calls(executor, &(struct many_calls){.client = client, .count = 20});
	assert_int_equal(count_answered(200), 20);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(made_call(i)->attempts, 2);
		assert_true(made_call(i)->elapsed_ns >= 1000 * MS_NS);
	}
	stop();
}

static void a_pause_ends_when_the_call_is_cancelled(void **state)
{
	struct scripted_reply reply = {.status = 503, .bytes = 100};

	(void)state;
	start(&(struct scripted_options){.replies = &reply, .reply_count = 1},
	      &(struct retry_settings){.attempts = 2, .base_ms = 3600000, .max_ms = 3600000});
	make_calls(executor, &(struct many_calls){
				     .client = client, .count = 20, .cancel_after_ns = 20 * MS_NS});
	assert_int_equal(count_failed(HTTP_CANCELED), 20);
	assert_int_equal(seen(), 20);
	stop();
}

static void no_permit_is_held_during_a_pause(void **state)
{
	struct upstream_limits limits = {.permits = 1, .permit_wait_ms = 60000};
	struct scripted_reply replies[] = {{.status = 503}, {.status = 200}};
	struct http_client *limited;

	(void)state;
	executor = start_executor(10);
	assert_int_equal(scripted_client_create(
				 &(struct scripted_options){.replies = replies, .reply_count = 2},
				 &scripted),
	                 0);
	assert_int_equal(upstream_client_create(scripted, &limits, &limited), 0);
	assert_int_equal(retry_client_create(limited,
	                                     &(struct retry_settings){.attempts = 2,
	                                                              .base_ms = 3600000,
	                                                              .max_ms = 3600000},
	                                     1, &client),
	                 0);
	/* The second call gets its answer while the first would wait for its retry for ever. */
	make_calls(executor, &(struct many_calls){
				     .client = client, .count = 2, .cancel_after_ns = 50 * MS_NS});
	assert_int_equal(count_answered(200), 1);
	assert_int_equal(count_failed(HTTP_CANCELED), 1);
	stop();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(what_may_pass_is_tried_again_until_there_is_an_answer),
		cmocka_unit_test(the_last_outcome_stands_when_all_attempts_are_made),
		cmocka_unit_test(what_will_not_pass_is_left_at_one_attempt),
		cmocka_unit_test(a_post_is_sent_once_and_with_a_key_again),
		cmocka_unit_test(an_upstream_that_fails_all_gets_a_fifth_more_at_most),
		cmocka_unit_test(one_timeout_holds_for_all_attempts_together),
		cmocka_unit_test(no_attempt_is_made_that_could_not_end_in_time),
		cmocka_unit_test(a_server_that_asks_for_a_second_gets_it),
		cmocka_unit_test(a_pause_ends_when_the_call_is_cancelled),
		cmocka_unit_test(no_permit_is_held_during_a_pause),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
