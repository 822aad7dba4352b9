#include "server/listen_address.h"

#include <errno.h>
#include <string.h>

#include "tests/with_cmocka.h"

static void assert_address(const char *text, const char *host, unsigned port)
{
	struct listen_address address;

	assert_int_equal(listen_address_parse(text, &address), 0);
	assert_string_equal(address.host, host);
	assert_int_equal(address.port, port);
}

static void host_and_port_are_split_at_the_last_colon(void **state)
{
	(void)state;
	assert_address("127.0.0.1:8080", "127.0.0.1", 8080);
	assert_address("localhost:0", "localhost", 0);
	assert_address("[::1]:65535", "::1", 65535);
}

static void anything_else_is_refused(void **state)
{
	static const char *const bad[] = {
		"",       ":",       ":80",      "host",      "host:",      "host:65536",
		"host:x", "host:-1", "host: 80", "host:0x50", "::1:80",     "[::1]",
		"[]:80",  "[::1:80", "::1]:80",  "a:000080",  "[[::1]]:80", "h:80 ",
	};
	struct listen_address address = {.port = 7};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (listen_address_parse(bad[i], &address) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
	assert_int_equal(address.port, 7);
}

static void a_host_that_is_too_long_is_refused(void **state)
{
	char text[300];
	struct listen_address address;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + 253, ":80", sizeof(":80"));
	assert_int_equal(listen_address_parse(text, &address), 0);
	memcpy(text + 253, "a:80", sizeof("a:80"));
	assert_int_equal(listen_address_parse(text, &address), -EINVAL);
}

static void urls_put_ipv6_in_brackets(void **state)
{
	char url[LISTEN_ADDRESS_URL_BYTES];

	(void)state;
	listen_address_url("localhost", 80, url);
	assert_string_equal(url, "http://localhost:80");
	listen_address_url("::1", 65535, url);
	assert_string_equal(url, "http://[::1]:65535");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_port_are_split_at_the_last_colon),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(a_host_that_is_too_long_is_refused),
		cmocka_unit_test(urls_put_ipv6_in_brackets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
