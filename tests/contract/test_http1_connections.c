#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "executors/carrier.h"
#include "executors/scope.h"
#include "executors/semaphore.h"
#include "tests/contract/client_bursts.h"

/* Which connections the http1 client keeps, uses again and gives up. */

#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum { CLOSED_AFTER = 3 };

static const struct raw_reply replies[] = {
	{.path = "/kept", .bytes = ANSWER},
	{.path = "/third", .bytes = ANSWER, .answers = CLOSED_AFTER},
	{.path = "/says-close",
         .bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"},
	{.path = "/1.0", .bytes = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"},
	{.path = "/1.0-kept",
         .bytes = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"},
	{.path = "/204-with-body",
         .bytes = "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok"},
	{.path = "/surplus", .bytes = ANSWER "HTTP/1.1 666 Smuggled\r\n\r\n"},
	{.path = "/length-twice",
         .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"},
	{.path = "/length-and-chunked",
         .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "0\r\n\r\n"},
	{.path = "/gzip-chunked",
         .bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
	{.path = "/folded", .bytes = "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n"},
	{.path = "/bare-cr", .bytes = "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n"},
	{.path = "/0.9", .bytes = "<html>hello</html>", .ending = RAW_CLOSE},
	{.path = "/2", .bytes = "HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n"},
	{.path = "/101", .bytes = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"},
	{.path = "/hex-prefix",
         .bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n"},
	{.path = "/half-a-head", .bytes = "HTTP/1.1 200 OK\r\nContent-Le", .ending = RAW_CLOSE},
	{.path = NULL},
};

static int setup(void **state)
{
	return client_setup(state, replies);
}

static struct raw_counts counts_of(const struct client_fixture *fixture)
{
	struct raw_counts counts;

	raw_server_counts(fixture->server, &counts);
	return counts;
}

struct calls {
	const struct client_fixture *fixture;
	const char *method, *url;
	unsigned count, ok;
};

static int make_calls(void *arg)
{
	struct calls *calls = arg;

	for (unsigned i = 0; i < calls->count; i++) {
		struct http_call call = {
			.method = calls->method,
			.url = calls->url,
			.max_reply_bytes = 100,
			.count_only = true,
		};

		calls->ok +=
			http_call(calls->fixture->client, &call, deadline_in_ms(5000)) == HTTP_OK;
	}
	return 0;
}

/* One after another, in one task; returns how many were answered. */
static unsigned call_in_turn(const struct client_fixture *fixture, const char *method,
                             const char *path, unsigned count)
{
	struct calls calls = {fixture, method, url_of(fixture, path), count, 0};

	(void)run_in_task(fixture->executor, make_calls, &calls);
	return calls.ok;
}

/* The same with a client that has no connections yet, upon one carrier or thread; returns how many
 * connections that took. */
static unsigned connections_for(const struct client_fixture *fixture, const char *path,
                                unsigned count)
{
	struct executor_options options = options_for(1);
	unsigned before = counts_of(fixture).connections;
	struct client_fixture own = *fixture;

	options.threads = 1;
	own.executor = start_executor_with(&options);
	assert_int_equal(create_client(&(struct resolver_options){0}, &own.resolver, &own.client),
	                 0);
	assert_int_equal(call_in_turn(&own, NULL, path, count), count);
	executor_destroy(own.executor);
	http_client_destroy(own.client);
	resolver_destroy(own.resolver);
	return counts_of(fixture).connections - before;
}

static void a_reply_says_whether_its_connection_is_kept(void **state)
{
	assert_int_equal(connections_for(*state, "/kept", 5), 1);
	assert_int_equal(connections_for(*state, "/1.0-kept", 5), 1);
	assert_int_equal(connections_for(*state, "/says-close", 5), 5);
	assert_int_equal(connections_for(*state, "/1.0", 5), 5);
}

static void a_connection_with_bytes_to_spare_is_not_kept(void **state)
{
	assert_int_equal(connections_for(*state, "/204-with-body", 5), 5);
	assert_int_equal(connections_for(*state, "/surplus", 5), 5);
}

static void a_malformed_reply_ends_the_connection(void **state)
{
	static const char *const paths[] = {
		"/length-twice",
		"/length-and-chunked",
		"/gzip-chunked",
		"/folded",
		"/bare-cr",
		"/0.9",
		"/2",
		"/101",
		"/hex-prefix",
	};
	struct client_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_get_fails(fixture, paths[i], HTTP_PROTOCOL);
		assert_true(raw_server_wait_open(fixture->server, 0));
	}
	assert_get_fails(fixture, "/half-a-head", HTTP_RESET);
	assert_get_answers(fixture, "/kept", 200, "ok");
}

struct child {
	struct task task;
	struct calls calls;
};

static int child_run(struct task *task)
{
	return make_calls(&((struct child *)task)->calls);
}

static int run_children(void *arg)
{
	enum { CHILDREN = 10, CALLS = 30 };
	struct calls *calls = arg;
	struct child children[CHILDREN];
	struct scope scope;
	int error;

	scope_open(&scope, &(struct scope_options){.deadline = deadline_in_ms(60000)});
	for (unsigned i = 0; i < CHILDREN; i++) {
		children[i] = (struct child){
			.task.run = child_run,
			.calls = {calls->fixture, calls->method, calls->url, CALLS, 0},
		};
		(void)scope_fork(&scope, &children[i].task);
	}
	error = scope_join(&scope);
	for (unsigned i = 0; i < CHILDREN; i++)
		calls->ok += children[i].calls.ok;
	calls->count = CHILDREN * CALLS;
	return error;
}

/* Ten tasks at once, to a server that closes each connection at its fourth request. */
static struct calls call_in_parallel(const struct client_fixture *fixture, const char *method)
{
	struct calls calls = {fixture, method, url_of(fixture, "/third"), 0, 0};

	assert_int_equal(run_in_task(fixture->executor, run_children, &calls), 0);
	return calls;
}

static void no_get_fails_though_the_server_closes_kept_connections(void **state)
{
	struct calls calls = call_in_parallel(*state, "GET");

	assert_int_equal(calls.ok, calls.count);
	assert_true(counts_of(*state).requests > calls.count); /* some were sent twice */
}

static void no_post_fails_or_is_sent_twice_though_the_server_closes_kept_connections(void **state)
{
	struct calls calls = call_in_parallel(*state, "POST");

	assert_int_equal(calls.ok, calls.count);
	assert_int_equal(counts_of(*state).requests, calls.count);
	assert_int_equal(counts_of(*state).connections, calls.count);
}

static void an_idle_connection_is_closed_before_servers_do(void **state)
{
	struct client_fixture *fixture = *state;
	int64_t began_ns = deadline_now_ns();

	assert_int_equal(call_in_turn(fixture, NULL, "/kept", 3), 3);
	assert_int_equal(counts_of(fixture).open, 1);
	assert_true(raw_server_wait_open(fixture->server, 0));
	assert_in_range((deadline_now_ns() - began_ns) / 1000000, 3000, 4900);
	assert_int_equal(call_in_turn(fixture, NULL, "/kept", 3), 3);
	assert_int_equal(counts_of(fixture).connections, 2);
}

/* One call upon a carrier that ends before this returns. */
static void call_and_end(const struct client_fixture *fixture)
{
	struct client_fixture own = *fixture;

	own.executor = start_executor(1);
	assert_int_equal(call_in_turn(&own, NULL, "/kept", 1), 1);
	executor_destroy(own.executor);
}

static int sleep_until(void *arg)
{
	return task_sleep_until(*(const struct deadline *)arg);
}

static void a_tick_closes_what_ended_carriers_have_left_for_too_long(void **state)
{
	struct client_fixture *fixture = *state;
	struct deadline old;

	call_and_end(fixture);
	http_client_tick(fixture->client);
	call_and_end(fixture);
	assert_int_equal(counts_of(fixture).connections, 1); /* it was not closed */
	old = deadline_in_ms(3000);
	assert_int_equal(run_in_task(fixture->executor, sleep_until, &old), 0);
	assert_int_equal(counts_of(fixture).open, 1);
	http_client_tick(fixture->client);
	assert_true(raw_server_wait_open(fixture->server, 0));
}

static void threads_leave_their_connections_to_the_next_ones(void **state)
{
	struct slow_endpoint_stats stats;

	stats = make_two_bursts(*state, 300);
	assert_int_equal(stats.total, 600);
	/* A thread reports its task's end before its own. */
	assert_in_range(stats.connections, 300, 350);
}

/* Two tasks on two carriers that make a call in turn. */
struct taker {
	struct task task; /* first */
	struct calls calls;
	struct carrier *carrier;
	atomic_bool started; /* release, partner: the acquire in start_elsewhere() */
	struct task_semaphore mine, others;
};

enum { TURNS = 20 };

static int call_in_turns(struct task *task)
{
	struct taker *taker = (struct taker *)task;

	taker->carrier = carrier_current();
	atomic_store_explicit(&taker->started, true, memory_order_release);
	for (int turn = 0; turn < TURNS; turn++) {
		(void)task_semaphore_acquire(&taker->mine, DEADLINE_NEVER);
		(void)make_calls(&taker->calls);
		task_semaphore_release(&taker->others);
	}
	return 0;
}

/* A carrier that is kept busy leaves the child to another one. */
static bool start_elsewhere(struct scope *scope, struct taker *taker)
{
	struct deadline patience = deadline_in_ms(5000);

	(void)scope_fork(scope, &taker->task);
	while (!atomic_load_explicit(&taker->started, memory_order_acquire) &&
	       deadline_remaining_ns(patience) > 0)
		;
	return atomic_load_explicit(&taker->started, memory_order_acquire) &&
	       taker->carrier != carrier_current();
}

static int take_turns(void *arg)
{
	struct taker *taker = arg;
	struct calls mine = taker->calls;
	struct scope scope;
	bool apart;

	scope_open(&scope, &(struct scope_options){0});
	apart = start_elsewhere(&scope, taker);
	for (int turn = 0; turn < TURNS; turn++) {
		(void)make_calls(&mine);
		task_semaphore_release(&taker->mine);
		(void)task_semaphore_acquire(&taker->others, DEADLINE_NEVER);
	}
	(void)scope_join(&scope);
	taker->calls.ok += mine.ok;
	return apart;
}

static void a_carrier_takes_the_idle_connection_of_another(void **state)
{
	struct client_fixture own = *(struct client_fixture *)*state;
	struct executor_options options = options_for(2);
	struct taker taker = {
		.task.run = call_in_turns,
		.calls = {&own, NULL, url_of(&own, "/kept"), 1, 0},
	};

	options.threads = 2;
	options.pinned_threshold_ms = 10000; /* no hand-over while the parent keeps its carrier */
	own.executor = start_executor_with(&options);
	task_semaphore_init(&taker.mine, 0);
	task_semaphore_init(&taker.others, 0);
	assert_true(run_in_task(own.executor, take_turns, &taker));
	assert_int_equal(taker.calls.ok, 2 * TURNS);
	assert_int_equal(counts_of(&own).connections, 1);
	task_semaphore_finish(&taker.others);
	task_semaphore_finish(&taker.mine);
	executor_destroy(own.executor);
}

enum { MOST_USED = 2048 };

/* Use up the descriptors below @limit. Returns how many were opened into @used. */
static int use_up(int *used, rlim_t limit, struct rlimit *before)
{
	struct rlimit low;
	int count = 0, fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
	low = (struct rlimit){.rlim_cur = limit, .rlim_max = before->rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	while (count < MOST_USED && (fd = fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0)
		used[count++] = fd;
	return count;
}

static void give_back(const int *used, int count, const struct rlimit *before)
{
	for (int i = 0; i < count; i++)
		(void)close(used[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, before), 0);
}

static void a_connection_may_have_a_large_number(void **state)
{
	struct client_fixture *fixture = *state;
	static int used[MOST_USED];
	struct rlimit before;
	int count = use_up(used, 1100, &before);

	assert_true(count > 0 && used[count - 1] == 1099);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(call_in_turn(fixture, NULL, "/kept", 3), 3);
	assert_int_equal(call_in_turn(fixture, "POST", "/kept", 3), 3);
	give_back(used, count, &before);
}

/* An idle one to another host is closed: that frees its descriptor for the client, and that of its
 * other end for the server, which is in this process as well. */
static void an_idle_connection_makes_room_for_another(void **state)
{
	struct client_fixture own = *(struct client_fixture *)*state;
	struct executor_options options = options_for(1);
	struct raw_server *other = raw_server_start(replies);
	static int used[MOST_USED];
	struct rlimit before;
	char url[64];
	struct calls calls = {&own, NULL, url, 1, 0};
	int count;

	options.threads = 1;
	own.executor = start_executor_with(&options);
	assert_in_range(snprintf(url, sizeof(url), "http://127.0.0.1:%u/kept",
	                         (unsigned)raw_server_port(other)),
	                1, sizeof(url) - 1);
	assert_int_equal(call_in_turn(&own, NULL, "/kept", 1), 1);
	count = use_up(used, 512, &before);
	(void)run_in_task(own.executor, make_calls, &calls);
	give_back(used, count, &before);
	assert_int_equal(calls.ok, 1);
	executor_destroy(own.executor);
	raw_server_stop(other);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, client_teardown)
#define CASE_ON(name, executors)                                                                   \
	cmocka_unit_test_prestate_setup_teardown(name, setup, client_teardown, executors)
	const struct CMUnitTest cases[] = {
		CASE(a_reply_says_whether_its_connection_is_kept),
		CASE(a_connection_with_bytes_to_spare_is_not_kept),
		CASE(a_malformed_reply_ends_the_connection),
		CASE(no_get_fails_though_the_server_closes_kept_connections),
		CASE(no_post_fails_or_is_sent_twice_though_the_server_closes_kept_connections),
		CASE_ON(an_idle_connection_is_closed_before_servers_do, "coroutine"),
		CASE(a_tick_closes_what_ended_carriers_have_left_for_too_long),
		CASE_ON(threads_leave_their_connections_to_the_next_ones, "thread"),
		CASE_ON(a_carrier_takes_the_idle_connection_of_another, "coroutine"),
		CASE(a_connection_may_have_a_large_number),
		CASE_ON(an_idle_connection_makes_room_for_another, "coroutine"),
	};
#undef CASE
#undef CASE_ON

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
