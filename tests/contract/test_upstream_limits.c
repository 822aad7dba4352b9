#include <stdatomic.h>
#include <stdlib.h>

#include "clients/upstream.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"
#include "tests/fakes/scripted_client.h"

/* How many calls an upstream gets at once and in a second, before a client that answers from a
 * script. */

enum { MOST = 40 };

#define FOR_EVER INT64_MAX

struct caller {
	struct task task; /* first */
	struct http_client *client;
	struct http_call call;
};

static struct caller callers[MOST];

static int make_call(struct task *task)
{
	struct caller *caller = (struct caller *)task;

	(void)http_call(caller->client, &caller->call, task_deadline());
	return 0;
}

struct run {
	struct http_client *client;
	unsigned count;
	struct deadline deadline; /* of all; zeroed: none */
	struct http_call calls;   /* what each is like */
	const char *urls[2];      /* in turn, instead of its URL */
};

static int run_calls(void *arg)
{
	struct run *run = arg;
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){.deadline = run->deadline});
	for (unsigned i = 0; i < run->count; i++) {
		callers[i] = (struct caller){
			.task.run = make_call, .client = run->client, .call = run->calls};
		callers[i].call.max_reply_bytes = 1000;
		callers[i].call.url = run->urls[0] ? run->urls[i % 2] : "http://upstream/";
		error |= scope_fork(&scope, &callers[i].task);
	}
	(void)scope_join(&scope);
	for (unsigned i = 0; i < run->count; i++)
		http_call_finish(&callers[i].call);
	return error;
}

static struct http_client *scripted;

static struct http_client *create(const struct upstream_limits *limits,
                                  const struct scripted_options *options)
{
	struct http_client *client;

	assert_int_equal(scripted_client_create(options, &scripted), 0);
	assert_int_equal(upstream_client_create(scripted, limits, &client), 0);
	return client;
}

static unsigned count_failures(unsigned count, enum http_failure failure)
{
	unsigned found = 0;

	for (unsigned i = 0; i < count; i++)
		found += callers[i].call.failure == failure;
	return found;
}

/* Run and destroy; tell what the scripted client has seen. */
static struct scripted_stats run(struct run *wanted)
{
	struct executor *executor = start_executor(MOST + 1);
	struct scripted_stats stats;

	assert_int_equal(run_in_task(executor, run_calls, wanted), 0);
	scripted_client_stats(scripted, &stats);
	executor_destroy(executor);
	http_client_destroy(wanted->client);
	return stats;
}

static void no_more_calls_at_once_than_permits(void **state)
{
	struct scripted_reply reply = {.delay_ns = 2000000};
	struct run wanted = {
		.client = create(&(struct upstream_limits){.permits = 3, .permit_wait_ms = 60000},
	                         &(struct scripted_options){.replies = &reply, .reply_count = 1}),
		.count = MOST,
	};
	struct scripted_stats stats = run(&wanted);

	(void)state;
	assert_int_equal(count_failures(MOST, HTTP_OK), MOST);
	assert_int_equal(stats.peak_in_flight, 3);
	assert_int_equal(stats.calls, MOST);
}

static void without_a_permit_in_time_the_upstream_is_left_alone(void **state)
{
	struct scripted_reply reply = {.delay_ns = FOR_EVER};
	struct run wanted = {
		.client = create(&(struct upstream_limits){.permits = 2, .permit_wait_ms = 20},
	                         &(struct scripted_options){.replies = &reply, .reply_count = 1}),
		.count = 10,
		.calls.timeout_ms = 1000,
	};
	struct scripted_stats stats = run(&wanted);

	(void)state;
	assert_int_equal(count_failures(10, HTTP_NO_PERMIT), 8);
	assert_int_equal(count_failures(10, HTTP_TIMEOUT), 2);
	assert_int_equal(stats.calls, 2);
	for (unsigned i = 0; i < 10; i++)
		assert_true(callers[i].call.elapsed_ns >= 20000000);
}

static void a_permit_comes_back_whatever_became_of_the_call(void **state)
{
	struct scripted_reply replies[] = {
		{.failure = HTTP_RESET}, {.status = 500}, {.bytes = 2000}, {.delay_ns = FOR_EVER}};
	struct run wanted = {
		.client = create(&(struct upstream_limits){.permits = 1, .permit_wait_ms = 60000},
	                         &(struct scripted_options){.replies = replies, .reply_count = 4}),
		.count = 16,
		.calls.timeout_ms = 5,
	};
	struct scripted_stats stats = run(&wanted);

	(void)state;
	assert_int_equal(stats.calls, 16);
	assert_int_equal(count_failures(16, HTTP_RESET), 4);
	assert_int_equal(count_failures(16, HTTP_TIMEOUT), 4);
	assert_int_equal(count_failures(16, HTTP_OK), 4);
}

static void the_timeout_begins_with_the_permit(void **state)
{
	struct scripted_reply reply = {.delay_ns = 300000000};
	struct run wanted = {
		.client = create(&(struct upstream_limits){.permits = 1, .permit_wait_ms = 60000},
	                         &(struct scripted_options){.replies = &reply, .reply_count = 1}),
		.count = 4,
		.calls.timeout_ms = 800,
	};
	int64_t began_ns = deadline_now_ns(), elapsed_ns = 0;

	(void)state;
	(void)run(&wanted);
	for (unsigned i = 0; i < 4; i++)
		elapsed_ns += callers[i].call.elapsed_ns;
	assert_int_equal(count_failures(4, HTTP_OK), 4); /* the last began after 900 ms */
	assert_true(elapsed_ns <= deadline_now_ns() - began_ns);
}

static void the_deadline_ends_the_wait_for_a_permit(void **state)
{
	struct scripted_reply reply = {.delay_ns = FOR_EVER};
	struct run wanted = {
		.client = create(&(struct upstream_limits){.permits = 1, .permit_wait_ms = 60000},
	                         &(struct scripted_options){.replies = &reply, .reply_count = 1}),
		.count = 5,
		.deadline = deadline_in_ms(300),
	};
	struct scripted_stats stats = run(&wanted);

	(void)state;
	assert_int_equal(count_failures(5, HTTP_TIMEOUT), 5);
	assert_int_equal(stats.peak_in_flight, 1);
	assert_int_equal(stats.in_flight, 0);
}

static void each_host_and_port_has_limits_of_its_own(void **state)
{
	struct scripted_reply reply = {.delay_ns = FOR_EVER};
	struct run wanted = {
		.client = create(&(struct upstream_limits){.permits = 1, .permit_wait_ms = 0},
	                         &(struct scripted_options){.replies = &reply, .reply_count = 1}),
		.count = 2,
		.calls.timeout_ms = 300,
		.urls = {"http://one/", "http://one:81/"},
	};

	(void)state;
	assert_int_equal(run(&wanted).calls, 2);
	wanted.client = create(&(struct upstream_limits){.permits = 1},
	                       &(struct scripted_options){.replies = &reply, .reply_count = 1});
	wanted.urls[0] = "http://One:80/a";
	wanted.urls[1] = "http://oNE/b";
	assert_int_equal(run(&wanted).calls, 1);
}

static int64_t starts_ns[MOST];
static atomic_uint starts;

static void note_start(void *arg, const struct http_call *call, unsigned index,
                       struct scripted_reply *reply)
{
	(void)arg;
	(void)call;
	(void)reply;
	starts_ns[index] = deadline_now_ns();
	atomic_fetch_add(&starts, 1);
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static void calls_start_at_the_rate_and_no_faster(void **state)
{
	struct run wanted = {
		.client = create(&(struct upstream_limits){.per_second = 1000},
	                         &(struct scripted_options){.adjust = note_start}),
		.count = MOST,
	};
	int64_t began_ns = deadline_now_ns();

	(void)state;
	atomic_store(&starts, 0);
	(void)run(&wanted);
	assert_int_equal(count_failures(MOST, HTTP_OK), MOST);
	assert_int_equal(atomic_load(&starts), MOST);
	qsort(starts_ns, MOST, sizeof(starts_ns[0]), compare);
	for (int i = 0; i < MOST; i++)
		assert_true(starts_ns[i] - began_ns >= i * INT64_C(1000000));
}

static void what_could_not_start_in_time_fails_at_once_and_takes_no_place(void **state)
{
	struct run wanted = {
		.client = create(&(struct upstream_limits){.per_second = 1},
	                         &(struct scripted_options){.adjust = note_start}),
		.count = 5,
		.deadline = deadline_in_ms(500),
	};
	int64_t began_ns = deadline_now_ns();

	(void)state;
	assert_int_equal(run(&wanted).calls, 1);
	assert_int_equal(count_failures(5, HTTP_TIMEOUT), 4);
	/* None has waited for its place, a second away and more. */
	assert_true(deadline_now_ns() - began_ns < INT64_C(1000000000));
}

static void no_permit_is_held_while_waiting_for_a_start(void **state)
{
	struct scripted_reply reply = {.delay_ns = 1000000};
	struct run wanted = {
		.client = create(&(struct upstream_limits){.permits = 2,
	                                                   .permit_wait_ms = 150,
	                                                   .per_second = 50},
	                         &(struct scripted_options){.replies = &reply, .reply_count = 1}),
		.count = 20,
	};

	(void)state;
	/* 400 ms of starts: if permits were held for that, most would wait for one in vain. */
	assert_int_equal(run(&wanted).calls, 20);
	assert_int_equal(count_failures(20, HTTP_OK), 20);
}

static void many_hosts_share_what_there_is(void **state)
{
	struct executor *executor = start_executor(MOST + 1);
	struct http_client *client =
		create(&(struct upstream_limits){.permits = 1}, &(struct scripted_options){0});
	char urls[2][32];

	(void)state;
	for (unsigned i = 0; i < UPSTREAMS_MAX + 100; i++) {
		struct run wanted = {.client = client, .count = 2, .urls = {urls[0], urls[1]}};

		assert_true(snprintf(urls[0], sizeof(urls[0]), "http://a%u/", i) > 0);
		assert_true(snprintf(urls[1], sizeof(urls[1]), "http://b%u/", i) > 0);
		assert_int_equal(run_in_task(executor, run_calls, &wanted), 0);
	}
	assert_int_equal(count_failures(1, HTTP_OK), 1);
	executor_destroy(executor);
	http_client_destroy(client);
}

/* Other limits from the moment when call @at starts. */
struct change {
	struct http_client *client;
	struct upstream_limits limits;
	unsigned at;
	atomic_uint most_after; /* calls in flight, seen by those that started later */
};

static void change_limits(void *arg, const struct http_call *call, unsigned index,
                          struct scripted_reply *reply)
{
	struct change *change = arg;
	struct scripted_stats stats;
	unsigned most = atomic_load(&change->most_after);

	(void)call;
	/* None of the first is over when the last of them starts; nor of those without a limit. */
	reply->delay_ns = index <= change->at || change->limits.permits == 0 ? 100000000 : 5000000;
	scripted_client_stats(scripted, &stats);
	if (index == change->at)
		upstream_client_set_limits(change->client, &change->limits);
	while (index > change->at && stats.in_flight > most &&
	       !atomic_compare_exchange_weak(&change->most_after, &most, stats.in_flight)) {
	}
}

/* All calls are made, with @permits until call @at starts. Returns how many were in flight at once
 * after that. */
static unsigned most_at_once_after_change(unsigned permits, struct change *change)
{
	struct upstream_limits limits = {.permits = permits, .permit_wait_ms = 60000};
	struct scripted_options options = {.adjust = change_limits, .arg = change};
	struct run wanted = {.client = create(&limits, &options), .count = MOST};

	change->client = wanted.client;
	(void)run(&wanted);
	assert_int_equal(count_failures(MOST, HTTP_OK), MOST);
	return atomic_load(&change->most_after);
}

static void with_more_permits_calls_that_wait_start(void **state)
{
	struct change change = {.limits = {.permits = 4, .permit_wait_ms = 60000}};

	(void)state;
	assert_int_equal(most_at_once_after_change(1, &change), 4);
}

static void with_fewer_permits_calls_wait_until_enough_have_come_back(void **state)
{
	struct change change = {.limits = {.permits = 2, .permit_wait_ms = 60000}, .at = 7};

	(void)state;
	/* All eight are in flight. */
	assert_int_equal(most_at_once_after_change(8, &change), 2);
}

static void without_a_limit_any_more_calls_that_wait_start(void **state)
{
	struct change change = {.at = 0};

	(void)state;
	assert_true(most_at_once_after_change(1, &change) > MOST / 2);
}

static int use_limits_that_come_and_go(void *arg)
{
	static const unsigned permits[] = {0, 2, 0, 3, 1, 0, 1};
	struct run *run = arg;
	struct upstream_usage usage;

	for (unsigned i = 0; i < sizeof(permits) / sizeof(permits[0]); i++) {
		struct upstream_limits limits = {.permits = permits[i], .permit_wait_ms = 60000};

		upstream_client_set_limits(run->client, &limits);
		(void)run_calls(run);
		upstream_client_usage(run->client, &usage);
		if (usage.permits_in_use != 0 || count_failures(run->count, HTTP_OK) != run->count)
			return (int)i + 1;
	}
	return 0;
}

static void limits_come_and_go(void **state)
{
	struct run wanted = {
		.client = create(&(struct upstream_limits){0}, &(struct scripted_options){0}),
		.count = 10,
	};
	struct executor *executor = start_executor(MOST + 1);

	(void)state;
	assert_int_equal(run_in_task(executor, use_limits_that_come_and_go, &wanted), 0);
	executor_destroy(executor);
	http_client_destroy(wanted.client);
}

static void a_tick_reaches_the_client_behind_the_limits(void **state)
{
	struct http_client *client =
		create(&(struct upstream_limits){.permits = 1}, &(struct scripted_options){0});
	struct scripted_stats stats;

	(void)state;
	http_client_tick(client);
	scripted_client_stats(scripted, &stats);
	assert_int_equal(stats.ticks, 1);
	http_client_destroy(client);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(no_more_calls_at_once_than_permits),
		cmocka_unit_test(without_a_permit_in_time_the_upstream_is_left_alone),
		cmocka_unit_test(a_permit_comes_back_whatever_became_of_the_call),
		cmocka_unit_test(the_timeout_begins_with_the_permit),
		cmocka_unit_test(the_deadline_ends_the_wait_for_a_permit),
		cmocka_unit_test(each_host_and_port_has_limits_of_its_own),
		cmocka_unit_test(calls_start_at_the_rate_and_no_faster),
		cmocka_unit_test(what_could_not_start_in_time_fails_at_once_and_takes_no_place),
		cmocka_unit_test(no_permit_is_held_while_waiting_for_a_start),
		cmocka_unit_test(with_more_permits_calls_that_wait_start),
		cmocka_unit_test(with_fewer_permits_calls_wait_until_enough_have_come_back),
		cmocka_unit_test(without_a_limit_any_more_calls_that_wait_start),
		cmocka_unit_test(limits_come_and_go),
		cmocka_unit_test(a_tick_reaches_the_client_behind_the_limits),
		cmocka_unit_test(many_hosts_share_what_there_is),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
