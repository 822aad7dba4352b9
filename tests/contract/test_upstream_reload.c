#include <errno.h>
#include <stdatomic.h>

#include "tests/contract/many_calls.h"
#include "tests/contract/upstream_set_fixture.h"
#include "tests/fakes/scripted_client.h"

/* A set of upstreams takes the place of another: what is kept, and what holds from then on. */

static void a_reload_keeps_what_has_not_changed(void **state)
{
	struct http_header header = {"A", "1"}, other_header = {"A", "2"};
	struct upstream_settings upstreams[] = {named("a", "http://a"), named("b", "http://b"),
	                                        named("c", "http://c"), named("d", "http://d")};
	struct upstream_set *before, *after;

	(void)state;
	upstreams[0].headers = &header;
	upstreams[0].header_count = 1;
	upstreams[1].headers = &header;
	upstreams[1].header_count = 1;
	before = create_set(upstreams, 4, NULL);
	upstreams[1].headers = &other_header;
	upstreams[2].retry = RETRY_DEFAULTS;
	upstreams[3].name = "e";
	after = create_set(upstreams, 4, before);
	assert_ptr_equal(upstream_set_find(after, "a")->client,
	                 upstream_set_find(before, "a")->client);
	assert_ptr_not_equal(upstream_set_find(after, "b")->client,
	                     upstream_set_find(before, "b")->client);
	assert_ptr_not_equal(upstream_set_find(after, "c")->client,
	                     upstream_set_find(before, "c")->client);
	assert_null(upstream_set_find(after, "d"));
	assert_non_null(upstream_set_find(after, "e"));
	upstream_set_release(before);
	assert_string_equal(upstream_set_find(after, "a")->headers[0].value, "1");
	upstream_set_release(after);
}

/* With another timeout each time, so that none is taken over as it is. */
static struct upstream_set *create_limited(struct http_client *scripted, unsigned permits,
                                           struct upstream_set *previous)
{
	static atomic_uint timeout_ms = 60000;
	struct upstream_settings upstream = named("a", "http://a");

	upstream.client = scripted;
	upstream.limits = (struct upstream_limits){.permits = permits, .permit_wait_ms = 60000};
	upstream.timeout_ms = atomic_fetch_add(&timeout_ms, 1);
	return create_set(&upstream, 1, previous);
}

static struct upstream_holder holder;

/* Each call uses the set of the moment, and lets go of it. */
struct user {
	struct http_client client; /* first */
};

static enum http_failure call_current(struct http_client *client, struct http_call *call,
                                      struct deadline deadline)
{
	struct upstream_set *set = upstream_holder_acquire(&holder);
	enum http_failure failure;

	(void)client;
	(void)deadline;
	failure = http_call_pass_on(upstream_set_find(set, "a")->client, call);
	upstream_set_release(set);
	return failure;
}

static const struct http_client_ops user_ops = {.name = "user", .call = call_current};

static void swap_during_call(void *arg, const struct http_call *call, unsigned index,
                             struct scripted_reply *reply)
{
	(void)call;
	(void)reply;
	if (index % 10 == 0)
		upstream_holder_swap(&holder, create_limited(*(struct http_client **)arg, 3, NULL));
}

static void calls_keep_their_set_while_it_is_replaced(void **state)
{
	struct executor *executor = start_executor(200);
	struct http_client *scripted;
	struct user user = {{&user_ops}};

	(void)state;
	assert_int_equal(
		scripted_client_create(
			&(struct scripted_options){.adjust = swap_during_call, .arg = &scripted},
			&scripted),
		0);
	upstream_holder_init(&holder, create_limited(scripted, 3, NULL));
	make_calls(executor, &(struct many_calls){.client = &user.client, .count = 150});
	assert_int_equal(count_answered(200), 150);
	upstream_holder_finish(&holder);
	executor_destroy(executor);
	http_client_destroy(scripted);
}

static void reload_during_call(void *arg, const struct http_call *call, unsigned index,
                               struct scripted_reply *reply)
{
	struct upstream_set *before;

	(void)call;
	reply->delay_ns = 2000000;
	if (index % 10 != 0)
		return;
	before = upstream_holder_acquire(&holder);
	upstream_holder_swap(&holder, create_limited(*(struct http_client **)arg, 3, before));
	upstream_set_release(before);
}

static void permits_that_are_out_count_after_a_reload(void **state)
{
	struct executor *executor = start_executor(200);
	struct http_client *scripted;
	struct scripted_stats seen;
	struct user user = {{&user_ops}};

	(void)state;
	assert_int_equal(
		scripted_client_create(
			&(struct scripted_options){.adjust = reload_during_call, .arg = &scripted},
			&scripted),
		0);
	upstream_holder_init(&holder, create_limited(scripted, 3, NULL));
	make_calls(executor, &(struct many_calls){.client = &user.client, .count = 150});
	assert_int_equal(count_answered(200), 150);
	scripted_client_stats(scripted, &seen);
	assert_int_equal(seen.peak_in_flight, 3);
	upstream_holder_finish(&holder);
	executor_destroy(executor);
	http_client_destroy(scripted);
}

static void who_has_an_old_set_goes_by_the_new_limits(void **state)
{
	struct scripted_reply reply = {.delay_ns = 1000000};
	struct executor *executor = start_executor(50);
	struct upstream_set *before, *after;
	struct http_client *scripted;
	struct scripted_stats seen;

	(void)state;
	assert_int_equal(
		scripted_client_create(
			&(struct scripted_options){.replies = &reply, .reply_count = 1}, &scripted),
		0);
	before = create_limited(scripted, 4, NULL);
	after = create_limited(scripted, 1, before);
	make_calls(executor,
	           &(struct many_calls){.client = upstream_set_at(before, 0)->client, .count = 40});
	assert_int_equal(count_answered(200), 40);
	scripted_client_stats(scripted, &seen);
	assert_int_equal(seen.peak_in_flight, 1);
	upstream_set_release(after);
	upstream_set_release(before);
	executor_destroy(executor);
	http_client_destroy(scripted);
}

static void a_reload_that_fails_changes_no_limits(void **state)
{
	struct upstream_settings upstreams[] = {named("a", "http://a"), named("b", "none")};
	struct upstream_set *before, *after = NULL;
	struct executor *executor = start_executor(50);
	struct http_client *scripted;
	struct scripted_reply reply = {.delay_ns = 20000000};
	struct scripted_stats seen;
	size_t faulty;

	(void)state;
	assert_int_equal(
		scripted_client_create(
			&(struct scripted_options){.replies = &reply, .reply_count = 1}, &scripted),
		0);
	before = create_limited(scripted, 20, NULL);
	upstreams[0].client = scripted;
	upstreams[0].limits.permits = 1;
	assert_int_equal(upstream_set_create(&(struct upstream_set_options){.upstreams = upstreams,
	                                                                    .count = 2,
	                                                                    .wire = wire,
	                                                                    .previous = before},
	                                     &after, &faulty),
	                 -EINVAL);
	make_calls(executor,
	           &(struct many_calls){.client = upstream_set_at(before, 0)->client, .count = 20});
	scripted_client_stats(scripted, &seen);
	assert_true(seen.peak_in_flight > 1);
	upstream_set_release(before);
	executor_destroy(executor);
	http_client_destroy(scripted);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(a_reload_keeps_what_has_not_changed, start_wire,
	                                        stop_wire),
		cmocka_unit_test_setup_teardown(permits_that_are_out_count_after_a_reload,
	                                        start_wire, stop_wire),
		cmocka_unit_test_setup_teardown(who_has_an_old_set_goes_by_the_new_limits,
	                                        start_wire, stop_wire),
		cmocka_unit_test_setup_teardown(a_reload_that_fails_changes_no_limits, start_wire,
	                                        stop_wire),
		cmocka_unit_test_setup_teardown(calls_keep_their_set_while_it_is_replaced,
	                                        start_wire, stop_wire),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
