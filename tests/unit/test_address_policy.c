#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "clients/address_policy.h"
#include "tests/with_cmocka.h"

static bool is_public(const char *text)
{
	struct sockaddr_storage storage = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
	const struct sockaddr *address = (const struct sockaddr *)&storage;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
		v6->sin6_family = AF_INET6;
	}
	assert_int_equal(address_is_public(address),
	                 address_policy_public.allows(&address_policy_public, address));
	return address_is_public(address);
}

/* The first and the last address of each block, and their neighbours outside. */
static void ipv4_blocks_end_where_they_do(void **state)
{
	static const struct {
		const char *before, *first, *last, *after;
	} blocks[] = {
		{NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
		{"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
		{"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
		{"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
		{"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
		{"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
		{"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
		{"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
		{"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
		{"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
		{"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
		{"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
		{"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
		{"223.255.255.255", "224.0.0.0", "255.255.255.255", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		if (blocks[i].before && !is_public(blocks[i].before))
			fail_msg("%s is public", blocks[i].before);
		if (is_public(blocks[i].first) || is_public(blocks[i].last))
			fail_msg("%s … %s is not public", blocks[i].first, blocks[i].last);
		if (blocks[i].after && !is_public(blocks[i].after))
			fail_msg("%s is public", blocks[i].after);
	}
}

static void ipv6_is_public_where_addresses_are_given_out(void **state)
{
	static const char *const public[] = {
		"2001:200::1",  "2001:db7:ffff::1", "2001:db9::1",  "2001:4860:4860::8888",
		"2003::1",      "2606:4700::1111",  "2a00:1450::1", "2620:4f:8000::1",
		"3ffe:ffff::1", "2001:ffff::1",
	};
	static const char *const special[] = {
		"::",
		"::1",
		"::7f00:1",             /* compatible: 127.0.0.1 */
		"::5db8:d822",          /* compatible with a public address */
		"::ffff:127.0.0.1",     /* mapped */
		"::ffff:93.184.216.34", /* mapped, public */
		"::ffff:0:127.0.0.1",   /* translated, SIIT */
		"64:ff9b::127.0.0.1",   /* NAT64 */
		"64:ff9b::10.0.0.1",
		"64:ff9b:1::a9fe:a9fe", /* NAT64 of a network's own */
		"100::1",               /* discarded */
		"2001::1",              /* Teredo */
		"2001:0:4136:e378:8000:63bf:80ff:fffe",
		"2001:2::1",  /* benchmarks */
		"2001:10::1", /* ORCHID */
		"2001:1ff:ffff::1",
		"2001:db8::1", /* documentation */
		"2001:db8:ffff::1",
		"2002:7f00:1::1", /* 6to4 of 127.0.0.1 */
		"2002:a9fe:a9fe::1",
		"3fff::1", /* documentation */
		"3fff:fff::1",
		"4000::1",       /* not assigned */
		"5f00::1",       /* segment routing */
		"fc00::1",       /* unique local */
		"fd00:ec2::254", /* metadata of a cloud */
		"fe80::1",       /* link-local */
		"fec0::1",       /* site-local */
		"ff02::1",       /* multicast */
		"ff0e::1",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++)
		if (!is_public(public[i]))
			fail_msg("%s is public", public[i]);
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (is_public(special[i]))
			fail_msg("%s is not public", special[i]);
}

static void other_families_are_not_public(void **state)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};

	(void)state;
	assert_false(address_is_public((const struct sockaddr *)&local));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4_blocks_end_where_they_do),
		cmocka_unit_test(ipv6_is_public_where_addresses_are_given_out),
		cmocka_unit_test(other_families_are_not_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
