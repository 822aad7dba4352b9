#include <errno.h>

#include "clients/upstream_set.h"
#include "tests/fakes/refusals.h"
#include "tests/fakes/scripted_client.h"
#include "tests/with_cmocka.h"

/* A set of upstreams is made without memory: it says so, leaves nothing, and spoils nothing of the
 * set that it was to follow. */

enum { UPSTREAMS = 2, MOST_REFUSALS = 1000 };

static const struct http_header header = {"Authorization", "secret"};
static struct url_pattern pattern;
static struct upstream_settings upstreams[UPSTREAMS], absolute;
static struct http_client *scripted;

static int configure(void **state)
{
	const char *reason;

	(void)state;
	assert_int_equal(url_pattern_parse("https://*.example.com", &pattern, &reason), 0);
	assert_int_equal(scripted_client_create(&(struct scripted_options){0}, &scripted), 0);
	upstreams[0] = (struct upstream_settings){.name = "same", .url = "http://a"};
	upstreams[1] = (struct upstream_settings){
		.name = "changed",
		.url = "http://b",
		.headers = &header,
		.header_count = 1,
		.limits = {.permits = 1, .permit_wait_ms = 1},
		.retry = RETRY_DEFAULTS,
		.breaker = BREAKER_DEFAULTS,
		.hedge = HEDGE_DEFAULTS,
	};
	for (size_t i = 0; i < UPSTREAMS; i++)
		upstreams[i].client = scripted;
	absolute = (struct upstream_settings){.client = scripted};
	return 0;
}

static int forget(void **state)
{
	(void)state;
	http_client_destroy(scripted);
	return 0;
}

static int create(struct upstream_set *previous, struct upstream_set **out)
{
	size_t faulty;

	return upstream_set_create(&(struct upstream_set_options){.upstreams = upstreams,
	                                                          .count = UPSTREAMS,
	                                                          .absolute = &absolute,
	                                                          .allow = {&pattern, 1},
	                                                          .previous = previous},
	                           out, &faulty);
}

/* Returns how often memory was refused before there was enough. */
static unsigned create_in_the_end(struct upstream_set *previous, struct upstream_set **out)
{
	for (unsigned k = 1; k < MOST_REFUSALS; k++) {
		int error;

		*out = NULL;
		refuse(REFUSE_MEMORY, k);
		error = create(previous, out);
		if (refusals_end() == 0) {
			assert_int_equal(error, 0);
			return k - 1;
		}
		assert_int_equal(error, -ENOMEM);
		assert_null(*out);
	}
	fail_msg("it needs memory more than %d times", MOST_REFUSALS);
	return 0;
}

static void a_set_that_lacks_memory_leaves_nothing(void **state)
{
	struct upstream_set *set;

	(void)state;
	assert_true(create_in_the_end(NULL, &set) >= 10);
	assert_int_equal(upstream_set_count(set), UPSTREAMS + 1);
	upstream_set_release(set);
}

static void a_reload_that_lacks_memory_leaves_the_old_set_alone(void **state)
{
	struct upstream_set *before, *after;

	(void)state;
	assert_int_equal(create(NULL, &before), 0);
	upstreams[1].timeout_ms = 5;
	assert_true(create_in_the_end(before, &after) >= 5);
	assert_ptr_equal(upstream_set_find(before, "same")->client,
	                 upstream_set_find(after, "same")->client);
	upstream_set_release(after);
	assert_int_equal(upstream_set_find(before, "changed")->timeout_ms, 0);
	upstream_set_release(before);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(a_set_that_lacks_memory_leaves_nothing, configure,
	                                        forget),
		cmocka_unit_test_setup_teardown(a_reload_that_lacks_memory_leaves_the_old_set_alone,
	                                        configure, forget),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
