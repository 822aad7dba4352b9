#include <errno.h>
#include <string.h>

#include "tests/contract/many_calls.h"
#include "tests/contract/upstream_set_fixture.h"
#include "tests/fakes/scripted_client.h"

/* The named upstreams: what is found, and that a call goes through all that is configured. */

static void upstreams_are_found_by_their_names(void **state)
{
	struct upstream_settings upstreams[] = {
		named("b", "http://bee:81/ignored?x"),
		named(NULL, "http://default"),
		named("a", "https://ay/"),
	};
	struct upstream_set *set = create_set(upstreams, 3, NULL);

	(void)state;
	assert_string_equal(upstream_set_find(set, "a")->origin, "https://ay");
	assert_string_equal(upstream_set_find(set, "b")->origin, "http://bee:81");
	assert_string_equal(upstream_set_find(set, NULL)->origin, "http://default");
	assert_null(upstream_set_find(set, "c"));
	assert_null(upstream_set_find(set, ""));
	assert_int_equal(upstream_set_count(set), 3);
	assert_null(upstream_set_at(set, 0)->name);
	assert_string_equal(upstream_set_at(set, 1)->name, "a");
	assert_string_equal(upstream_set_settings_at(set, 2)->url, "http://bee:81/ignored?x");
	upstream_set_release(set);
}

static void without_a_default_none_is_found(void **state)
{
	struct upstream_settings upstreams[] = {named("a", "http://a")};
	struct upstream_set *set = create_set(upstreams, 1, NULL);

	(void)state;
	assert_null(upstream_set_find(set, NULL));
	upstream_set_release(set);
}

static void each_speaks_the_client_of_its_scheme(void **state)
{
	struct upstream_settings upstreams[] = {named("a", "http://a"), named("b", "https://b"),
	                                        named("c", "HTTP://c")};
	struct upstream_set *set = create_set(upstreams, 3, NULL);

	(void)state;
	assert_string_equal(upstream_set_find(set, "a")->client->ops->name, "http1");
	assert_string_equal(upstream_set_find(set, "b")->client->ops->name, "curl");
	assert_string_equal(upstream_set_find(set, "c")->client->ops->name, "http1");
	upstream_set_release(set);
}

static void what_a_call_brings_along_is_copied(void **state)
{
	char value[] = "secret", name[] = "a";
	struct http_header header = {"Authorization", value};
	struct upstream_settings upstream = named(name, "http://a");
	struct upstream_set *set;
	const struct named_upstream *found;

	(void)state;
	upstream.headers = &header;
	upstream.header_count = 1;
	upstream.timeout_ms = 700;
	set = create_set(&upstream, 1, NULL);
	memset(value, 'x', strlen(value));
	name[0] = 'x';
	header.name = "x";
	found = upstream_set_find(set, "a");
	assert_int_equal(found->timeout_ms, 700);
	assert_int_equal(found->header_count, 1);
	assert_string_equal(found->headers[0].name, "Authorization");
	assert_string_equal(found->headers[0].value, "secret");
	upstream_set_release(set);
}

static int create_error(const struct upstream_settings *upstreams, size_t count, size_t *faulty)
{
	struct upstream_set *set;

	return upstream_set_create(&(struct upstream_set_options){.upstreams = upstreams,
	                                                          .count = count,
	                                                          .wire = wire},
	                           &set, faulty);
}

static void what_is_wrong_with_which_upstream_is_said(void **state)
{
	struct upstream_settings twice[] = {named("b", "http://b"), named("a", "http://a"),
	                                    named("b", "http://c")};
	struct upstream_settings no_url[] = {named("a", "http://a"), named("b", "ftp://b")};
	struct upstream_settings no_ca[] = {named("a", "https://a")};
	size_t faulty;

	(void)state;
	assert_int_equal(create_error(twice, 3, &faulty), -EEXIST);
	assert_int_equal(faulty, 2);
	assert_int_equal(create_error(no_url, 2, &faulty), -EINVAL);
	assert_int_equal(faulty, 1);
	no_ca[0].wire.ca_file = "/nowhere/ca.pem";
	assert_int_equal(create_error(no_ca, 1, &faulty), -ENOENT);
	assert_int_equal(faulty, 0);
}

static void absolute_urls_are_called_if_they_are_allowed(void **state)
{
	struct upstream_settings absolute = {.wire.connect_timeout_ms = 1000};
	struct url_pattern pattern;
	const struct named_upstream *found;
	struct upstream_set *set;
	const char *reason = NULL;
	size_t faulty;

	(void)state;
	assert_int_equal(url_pattern_parse("https://api.example.com", &pattern, &reason), 0);
	assert_int_equal(upstream_set_create(&(struct upstream_set_options){.absolute = &absolute,
	                                                                    .allow = {&pattern, 1},
	                                                                    .wire = wire},
	                                     &set, &faulty),
	                 0);
	assert_int_equal(
		upstream_set_find_absolute(set, "https://api.example.com/x", &found, &reason), 0);
	assert_null(found->origin);
	assert_ptr_equal(found->addresses, &address_policy_public);
	assert_int_equal(upstream_set_find_absolute(set, "https://example.com/", &found, &reason),
	                 -EACCES);
	assert_int_equal(upstream_set_find_absolute(set, "api.example.com", &found, &reason),
	                 -EINVAL);
	assert_null(upstream_set_find(set, NULL));
	upstream_set_release(set);
}

static void without_patterns_no_absolute_url_is_called(void **state)
{
	struct upstream_set *set = create_set(NULL, 0, NULL);
	const struct named_upstream *found;
	const char *reason = NULL;

	(void)state;
	assert_int_equal(upstream_set_find_absolute(set, "http://a/", &found, &reason), -EACCES);
	assert_non_null(reason);
	upstream_set_release(set);
}

static struct upstream_set *create_scripted(struct http_client *scripted)
{
	struct upstream_settings upstream = named("a", "http://a");

	upstream.client = scripted;
	upstream.limits = (struct upstream_limits){.permits = 3, .permit_wait_ms = 60000};
	upstream.retry = (struct retry_settings){.attempts = 3, .base_ms = 1, .max_ms = 1};
	upstream.breaker = BREAKER_DEFAULTS;
	upstream.hedge = HEDGE_DEFAULTS;
	return create_set(&upstream, 1, NULL);
}

static void a_call_goes_through_all_of_it_and_is_counted(void **state)
{
	/* Too few errors for the breaker. */
	struct scripted_reply replies[] = {
		{.status = 200, .bytes = 5}, {.status = 503}, {.status = 404}, {.status = 200},
		{.failure = HTTP_PROTOCOL},  {.status = 201}};
	struct executor *executor = start_executor(200);
	struct http_client *scripted;
	struct upstream_set *set;
	struct upstream_stats stats;
	struct scripted_stats seen;

	(void)state;
	assert_int_equal(scripted_client_create(
				 &(struct scripted_options){.replies = replies, .reply_count = 4},
				 &scripted),
	                 0);
	set = create_scripted(scripted);
	make_calls(executor,
	           &(struct many_calls){.client = upstream_set_at(set, 0)->client, .count = 40});
	upstream_set_stats_at(set, 0, &stats);
	scripted_client_stats(scripted, &seen);
	assert_true(seen.peak_in_flight <= 3);
	assert_int_equal(stats.attempts, seen.calls);
	assert_int_equal(stats.attempts, count_attempts());
	assert_in_range(stats.attempts, 40 + stats.retries, 40 + stats.retries + stats.hedges);
	assert_true(stats.retries >= 6);
	assert_int_equal(stats.results[HTTP_OK], count_answered(200) + count_answered(201));
	assert_int_equal(stats.results[HTTP_PROTOCOL], count_failed(HTTP_PROTOCOL));
	assert_int_equal(stats.results[UPSTREAM_BAD_STATUS],
	                 count_answered(404) + count_answered(503));
	assert_int_equal(stats.in_flight, 0);
	assert_int_equal(stats.permits, 3);
	assert_int_equal(stats.permits_in_use, 0);
	assert_true(stats.has_breaker);
	assert_int_equal(stats.breaker, BREAKER_CLOSED);
	upstream_set_release(set);
	executor_destroy(executor);
	http_client_destroy(scripted);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(upstreams_are_found_by_their_names, start_wire,
	                                        stop_wire),
		cmocka_unit_test_setup_teardown(without_a_default_none_is_found, start_wire,
	                                        stop_wire),
		cmocka_unit_test_setup_teardown(each_speaks_the_client_of_its_scheme, start_wire,
	                                        stop_wire),
		cmocka_unit_test_setup_teardown(what_a_call_brings_along_is_copied, start_wire,
	                                        stop_wire),
		cmocka_unit_test_setup_teardown(what_is_wrong_with_which_upstream_is_said,
	                                        start_wire, stop_wire),
		cmocka_unit_test_setup_teardown(absolute_urls_are_called_if_they_are_allowed,
	                                        start_wire, stop_wire),
		cmocka_unit_test_setup_teardown(without_patterns_no_absolute_url_is_called,
	                                        start_wire, stop_wire),
		cmocka_unit_test_setup_teardown(a_call_goes_through_all_of_it_and_is_counted,
	                                        start_wire, stop_wire),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
