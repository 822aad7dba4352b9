#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "clients/http1_address.h"
#include "clients/http1_hosts.h"
#include "tests/with_cmocka.h"

static struct http1_destination destination_of(const char *url)
{
	struct http1_destination to = {0};

	assert_int_equal(url_host_find(url, &to.host), 0);
	return to;
}

static void the_last_to_become_idle_is_used_first_and_the_first_closed_first(void **state)
{
	struct http1_destination to = destination_of("http://h/");
	struct http1_connection connections[3] = {0};
	struct http1_hosts hosts = {0};
	struct http1_host *host;

	(void)state;
	assert_int_equal(http1_hosts_oldest_ns(&hosts), INT64_MAX);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(http1_hosts_add(&hosts, &to, &connections[i]), 0);
		http1_hosts_set_idle(&hosts, &connections[i], 10 + i);
	}
	assert_int_equal(hosts.idle, 3);
	assert_int_equal(http1_hosts_oldest_ns(&hosts), 10);
	host = http1_hosts_find(&hosts, &to);
	assert_non_null(host);
	assert_ptr_equal(http1_hosts_take(&hosts, host), &connections[2]);
	assert_null(http1_hosts_take_old(&hosts, 9));
	assert_ptr_equal(http1_hosts_take_old(&hosts, 10), &connections[0]);
	assert_null(http1_hosts_take_old(&hosts, 10));
	assert_ptr_equal(http1_hosts_take(&hosts, host), &connections[1]);
	assert_null(http1_hosts_take(&hosts, host));
	assert_int_equal(hosts.idle, 0);
	for (int i = 0; i < 3; i++) {
		assert_non_null(http1_hosts_find(&hosts, &to));
		http1_hosts_remove(&hosts, &connections[i]);
	}
	assert_null(http1_hosts_find(&hosts, &to));
}

static void hosts_are_told_apart_by_name_and_port(void **state)
{
	enum { NAMES = 300 };
	static struct http1_connection connections[NAMES];
	static char urls[NAMES][40];
	struct http1_hosts hosts = {0};
	struct http1_destination to;

	(void)state;
	for (int i = 0; i < NAMES; i++) {
		assert_true(snprintf(urls[i], sizeof(urls[i]), "http://h%d:%d/", i / 2,
		                     80 + i % 2) > 0);
		to = destination_of(urls[i]);
		assert_int_equal(http1_hosts_add(&hosts, &to, &connections[i]), 0);
		http1_hosts_set_idle(&hosts, &connections[i], i);
	}
	for (int i = NAMES - 1; i >= 0; i--) {
		to = destination_of(urls[i]);
		assert_ptr_equal(http1_hosts_take(&hosts, http1_hosts_find(&hosts, &to)),
		                 &connections[i]);
		http1_hosts_remove(&hosts, &connections[i]);
		assert_null(http1_hosts_find(&hosts, &to));
	}
}

static void calls_with_different_policies_share_no_connection(void **state)
{
	struct http1_destination to = destination_of("http://h/");
	struct http1_destination public = to;
	struct http1_connection connections[2] = {0};
	struct http1_hosts hosts = {0};

	(void)state;
	public.addresses = &address_policy_public;
	assert_int_equal(http1_hosts_add(&hosts, &to, &connections[0]), 0);
	assert_null(http1_hosts_find(&hosts, &public));
	assert_int_equal(http1_hosts_add(&hosts, &public, &connections[1]), 0);
	assert_ptr_equal(http1_hosts_find(&hosts, &to), connections[0].host);
	assert_ptr_equal(http1_hosts_find(&hosts, &public), connections[1].host);
	http1_hosts_remove(&hosts, &connections[0]);
	assert_null(http1_hosts_find(&hosts, &to));
	http1_hosts_remove(&hosts, &connections[1]);
}

static void assert_address(const struct http1_address *address, const char *text, uint16_t port)
{
	char found[INET6_ADDRSTRLEN];
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
	bool is_v4 = v4->sin_family == AF_INET;

	assert_non_null(inet_ntop(v4->sin_family,
	                          is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr, found,
	                          sizeof(found)));
	assert_string_equal(found, text);
	assert_int_equal(ntohs(is_v4 ? v4->sin_port : v6->sin6_port), port);
	assert_int_equal(address->length, is_v4 ? sizeof(*v4) : sizeof(*v6));
}

static void addresses_are_taken_off_a_list(void **state)
{
	const char *list = "192.0.2.1,[2001:db8::1],nonsense,,[::1],127.0.0.1";
	struct http1_address address;

	(void)state;
	assert_int_equal(http1_address_count(list), 6);
	assert_true(http1_address_take(&list, 81, &address));
	assert_address(&address, "192.0.2.1", 81);
	assert_int_equal(http1_address_count(list), 5);
	assert_true(http1_address_take(&list, 81, &address));
	assert_address(&address, "2001:db8::1", 81);
	assert_true(http1_address_take(&list, 81, &address));
	assert_address(&address, "::1", 81);
	assert_true(http1_address_take(&list, 81, &address));
	assert_address(&address, "127.0.0.1", 81);
	assert_int_equal(http1_address_count(list), 0);
	assert_false(http1_address_take(&list, 81, &address));
}

static void an_address_may_have_a_zone(void **state)
{
	struct http1_address address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address.storage;

	(void)state;
	assert_true(http1_address_read("fe80::1%7", strlen("fe80::1%7"), 80, &address));
	assert_address(&address, "fe80::1", 80);
	assert_int_equal(v6->sin6_scope_id, 7);
	assert_true(http1_address_read("fe80::1%lo", strlen("fe80::1%lo"), 80, &address));
	assert_int_not_equal(v6->sin6_scope_id, 0);
	assert_false(http1_address_read("fe80::1%nosuch", strlen("fe80::1%nosuch"), 80, &address));
	assert_false(http1_address_read("fe80::1%0", strlen("fe80::1%0"), 80, &address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_to_become_idle_is_used_first_and_the_first_closed_first),
		cmocka_unit_test(hosts_are_told_apart_by_name_and_port),
		cmocka_unit_test(calls_with_different_policies_share_no_connection),
		cmocka_unit_test(addresses_are_taken_off_a_list),
		cmocka_unit_test(an_address_may_have_a_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
