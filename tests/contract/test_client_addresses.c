#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/contract/client_fixture.h"

/* Which addresses a client connects to, whatever the URL looks like. */

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static const struct raw_reply replies[] = {
	{.path = "/", .bytes = OK},
	{.path = "/302",
         .bytes = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n"
                  "Content-Length: 0\r\n\r\n"},
	{.path = NULL},
};

/* The raw server is at 127.0.0.1, and nobody at 127.0.0.2. */
static bool is_server(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;

	return v4->sin_family == AF_INET && v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

static bool allows_server(const struct address_policy *policy, const struct sockaddr *address)
{
	(void)policy;
	return is_server(address);
}

static bool allows_others(const struct address_policy *policy, const struct sockaddr *address)
{
	(void)policy;
	return !is_server(address);
}

static const struct address_policy only_server = {allows_server}, all_but_server = {allows_others};

static atomic_uint lookups; /* relaxed: counted by one lookup after another */

/* As the system does it for numbers, without asking anybody for names. */
static void look_up(const char *host, struct resolver_answer *answer)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST}, *found;
	unsigned before = atomic_fetch_add_explicit(&lookups, 1, memory_order_relaxed);
	const char *address = NULL;

	*answer = (struct resolver_answer){0};
	if (strcmp(host, "private.test") == 0)
		address = "127.0.0.1";
	else if (strcmp(host, "rebinds.test") == 0)
		address = before == 0 ? "127.0.0.2" : "127.0.0.1";
	else if (strcmp(host, "other-first.test") == 0)
		address = "127.0.0.2,127.0.0.1";
	else if (strcmp(host, "server-first.test") == 0)
		address = "127.0.0.1,127.0.0.2";
	else if (strcmp(host, "mapped.test") == 0)
		address = "[::ffff:127.0.0.1]";
	if (address) {
		(void)stpcpy(answer->addresses, address);
		return;
	}
	if (getaddrinfo(host, NULL, &hints, &found) != 0) {
		answer->reason = "not a name of this test";
		return;
	}
	if (getnameinfo(found->ai_addr, found->ai_addrlen, answer->addresses,
	                sizeof(answer->addresses), NULL, 0, NI_NUMERICHOST) != 0)
		answer->reason = "no address";
	freeaddrinfo(found);
}

static int setup(void **state)
{
	struct client_fixture *fixture;

	atomic_store_explicit(&lookups, 0, memory_order_relaxed);
	(void)client_setup(state, replies);
	fixture = *state;
	http_client_destroy(fixture->client);
	resolver_destroy(fixture->resolver);
	/* What is known of a name is forgotten at once: it is looked up for each call. */
	assert_int_equal(create_client(&(struct resolver_options){.look_up = look_up, .keep_ns = 1},
	                               &fixture->resolver, &fixture->client),
	                 0);
	return 0;
}

static unsigned connections_of(const struct client_fixture *fixture)
{
	struct raw_counts counts;

	raw_server_counts(fixture->server, &counts);
	return counts.connections;
}

/* GET http://@host:PORT/ under @addresses. For the caller to finish. */
static struct http_call get_under(const struct client_fixture *fixture, const char *host,
                                  const struct address_policy *addresses)
{
	static char url[200];
	struct http_call call = {.url = url, .max_reply_bytes = 100, .addresses = addresses};

	assert_in_range(snprintf(url, sizeof(url), "http://%s:%u/", host,
	                         (unsigned)raw_server_port(fixture->server)),
	                1, sizeof(url) - 1);
	(void)call_in_task(fixture, &call, 5000);
	return call;
}

static void assert_not_allowed(const struct client_fixture *fixture, const char *host,
                               const struct address_policy *addresses)
{
	struct http_call call = get_under(fixture, host, addresses);

	if (call.failure != HTTP_CONNECT || strcmp(call.reason, "address is not allowed") != 0)
		fail_msg("%s: %s, %s", host, http_failure_name(call.failure), call.reason);
	assert_false(call.replied);
}

static void no_spelling_leads_to_an_address_that_is_not_public(void **state)
{
	static const char *const hosts[] = {
		"127.0.0.1",
		"127.1",
		"127.0.1",
		"127.0.0.01",
		"127.255.255.254",
		"2130706433",
		"0x7f000001",
		"0X7F000001",
		"0x7f.1",
		"0x7f.0.0.1",
		"0x7f.0x0.0x0.0x1",
		"0177.0.0.1",
		"0177.0000000.0.01",
		"017700000001",
		"0",
		"0.0.0.0",
		"0x0",
		"10.0.0.1",
		"167772161",
		"172.31.255.255",
		"192.168.1.1",
		"0300.0250.1",
		"100.64.0.1",
		"169.254.169.254",
		"0xa9fea9fe",
		"2852039166",
		"0251.0376.0251.0376",
		"224.0.0.1",
		"255.255.255.255",
		"[::1]",
		"[0:0:0:0:0:0:0:1]",
		"[0000:0000::0001]",
		"[::]",
		"[::ffff:127.0.0.1]",
		"[::FFFF:7f00:1]",
		"[0:0:0:0:0:ffff:7f00:0001]",
		"[::127.0.0.1]",
		"[::ffff:0:127.0.0.1]",
		"[64:ff9b::127.0.0.1]",
		"[64:ff9b::7f00:1]",
		"[64:ff9b:1::a9fe:a9fe]",
		"[2002:7f00:1::]",
		"[2001:0:4136:e378:8000:63bf:80ff:fffe]",
		"[fc00::1]",
		"[fd00:ec2::254]",
		"[fe80::1%lo]",
		"[fe80::1]",
		"[ff02::1]",
		"private.test",
		"PRIVATE.test",
		"mapped.test",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_not_allowed(*state, hosts[i], &address_policy_public);
	assert_int_equal(connections_of(*state), 0);
}

static void what_could_hide_a_host_is_no_url(void **state)
{
	static const char *const hosts[] = {
		"user@127.0.0.1",
		"public.test@127.0.0.1",
		"public.test:80@127.0.0.1",
		"public.test%40127.0.0.1",
		"127.0.0.1%2f@public.test",
		"127.0.0.1\\@public.test",
		"127.0.0.1\t",
		"127.0.0.1\r\nHost: public.test",
		"%31%32%37.0.0.1",
		"127.0.0.1%00public.test",
		"127\343\200\2020\343\200\2020\343\200\2021",
		"\xe2\x93\x9bocalhost",
		"[127.0.0.1]",
		"[::1]public.test",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct http_call call = get_under(*state, hosts[i], &address_policy_public);

		if (call.failure != HTTP_PROTOCOL)
			fail_msg("%s: %s", hosts[i], http_failure_name(call.failure));
	}
	assert_int_equal(connections_of(*state), 0);
}

static void a_private_address_is_called_without_a_policy(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "private.test", "2130706433"};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct http_call call = get_under(*state, hosts[i], NULL);

		assert_string_equal(http_failure_name(call.failure), "ok");
		http_call_finish(&call);
	}
}

/* The first lookup finds an address that is allowed, and where nobody listens; the second one does
 * not. */
static void a_name_that_resolves_anew_gains_nothing(void **state)
{
	struct http_call call = get_under(*state, "rebinds.test", &all_but_server);

	assert_string_equal(http_failure_name(call.failure), "connect");
	assert_string_not_equal(call.reason, "address is not allowed");
	for (int i = 0; i < 3; i++)
		assert_not_allowed(*state, "rebinds.test", &all_but_server);
	assert_int_equal(connections_of(*state), 0);
	assert_true(atomic_load_explicit(&lookups, memory_order_relaxed) >= 4);
}

static void of_several_addresses_those_that_are_allowed_are_tried(void **state)
{
	static const char *const names[] = {"other-first.test", "server-first.test"};

	for (size_t i = 0; i < 2; i++) {
		struct http_call call = get_under(*state, names[i], &only_server);

		assert_string_equal(http_failure_name(call.failure), "ok");
		http_call_finish(&call);
		call = get_under(*state, names[i], &all_but_server);
		assert_string_equal(http_failure_name(call.failure), "connect");
	}
}

static void a_redirect_is_not_followed(void **state)
{
	struct client_fixture *fixture = *state;
	struct http_call call = {
		.url = url_of(fixture, "/302"), .max_reply_bytes = 100, .addresses = &only_server};

	assert_int_equal(call_in_task(fixture, &call, 5000), HTTP_OK);
	assert_int_equal(call.status, 302);
	http_call_finish(&call);
	assert_int_equal(connections_of(fixture), 1);
}

struct mixed_calls {
	struct client_fixture *fixture;
	const char *url;
	enum http_failure plain[3], under_server[2], under_others[2];
};

static enum http_failure get_in_task(const struct mixed_calls *mixed,
                                     const struct address_policy *addresses)
{
	struct http_call call = {.url = mixed->url, .max_reply_bytes = 100, .addresses = addresses};

	(void)http_call(mixed->fixture->client, &call, deadline_in_ms(5000));
	http_call_finish(&call);
	return call.failure;
}

static int make_mixed_calls(void *arg)
{
	struct mixed_calls *mixed = arg;

	mixed->plain[0] = get_in_task(mixed, NULL);
	mixed->under_others[0] = get_in_task(mixed, &all_but_server);
	mixed->plain[1] = get_in_task(mixed, NULL);
	mixed->under_server[0] = get_in_task(mixed, &only_server);
	mixed->under_others[1] = get_in_task(mixed, &all_but_server);
	mixed->under_server[1] = get_in_task(mixed, &only_server);
	mixed->plain[2] = get_in_task(mixed, NULL);
	return 0;
}

static void calls_under_different_policies_share_no_connection(void **state)
{
	struct mixed_calls mixed = {.fixture = *state, .url = url_of(*state, "/")};

	(void)run_in_task(mixed.fixture->executor, make_mixed_calls, &mixed);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(http_failure_name(mixed.plain[i]), "ok");
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(http_failure_name(mixed.under_server[i]), "ok");
		assert_string_equal(http_failure_name(mixed.under_others[i]), "connect");
	}
	/* One for those without a policy, another for those under one. */
	assert_int_equal(connections_of(*state), 2);
}

int main(int argc, char **argv)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, setup, client_teardown)
	const struct CMUnitTest cases[] = {
		SERVED(no_spelling_leads_to_an_address_that_is_not_public),
		SERVED(what_could_hide_a_host_is_no_url),
		SERVED(a_private_address_is_called_without_a_policy),
		SERVED(a_name_that_resolves_anew_gains_nothing),
		SERVED(of_several_addresses_those_that_are_allowed_are_tried),
		SERVED(a_redirect_is_not_followed),
		SERVED(calls_under_different_policies_share_no_connection),
	};

	return run_over_client(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
