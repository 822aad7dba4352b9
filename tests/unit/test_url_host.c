#include "clients/url_host.h"

#include <errno.h>
#include <string.h>

#include "tests/with_cmocka.h"

static void assert_host(const char *url, const char *name, unsigned port, bool is_address,
                        bool is_tls)
{
	struct url_host host;

	assert_int_equal(url_host_find(url, &host), 0);
	assert_int_equal(host.name_len, strlen(name));
	assert_memory_equal(host.name, name, host.name_len);
	assert_int_equal(host.port, port);
	assert_int_equal(host.is_address, is_address);
	assert_int_equal(host.is_tls, is_tls);
}

static void finds_names(void **state)
{
	(void)state;
	assert_host("http://example.com", "example.com", 80, false, false);
	assert_host("http://example.com/", "example.com", 80, false, false);
	assert_host("https://example.com/a:b@c", "example.com", 443, false, true);
	assert_host("HTTP://Example.COM:8080?x=1", "Example.COM", 8080, false, false);
	assert_host("http://a_b-c.d.:81#f", "a_b-c.d.", 81, false, false);
	assert_host("http://localhost:/", "localhost", 80, false, false);
	assert_host("http://127.1/", "127.1", 80, false, false);
}

static void finds_addresses(void **state)
{
	(void)state;
	assert_host("http://127.0.0.1:65535/x", "127.0.0.1", 65535, true, false);
	assert_host("https://[::1]", "::1", 443, true, true);
	assert_host("http://[2001:db8::1]:81/", "2001:db8::1", 81, true, false);
	assert_host("http://[fe80::1%25eth0]:81/", "fe80::1%25eth0", 81, true, false);
}

static void skips_user_and_password(void **state)
{
	(void)state;
	assert_host("http://user:pass@example.com:82/", "example.com", 82, false, false);
	assert_host("http://evil.com@example.com/", "example.com", 80, false, false);
	assert_host("http://a@b@127.0.0.1/", "127.0.0.1", 80, true, false);
	assert_host("http://example.com/@other.com", "example.com", 80, false, false);
}

static void refuses_what_is_no_url_with_a_host(void **state)
{
	static const char *const urls[] = {
		"",
		"example.com",
		"//example.com",
		"ftp://example.com",
		"http:/example.com",
		"http://",
		"http:///path",
		"http://:80",
		"http://user@",
		"http://[::1",
		"http://[]",
		"http://[::1]x",
		"http://[127.0.0.1]",
		"http://[example.com]",
		"http://::1/",
		"http://example.com:0",
		"http://example.com:65536",
		"http://example.com:4294967376",
		"http://example.com:8x",
		"http://example.com:-1",
		"http://exa mple.com",
		"http://exa%6dple.com",
		"http://ex\xc3\xa4mple.com",
		"http://example.com\r\nX: y",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct url_host host = {.port = 7};

		assert_int_equal(url_host_find(urls[i], &host), -EINVAL);
		assert_int_equal(host.port, 7);
	}
}

static void refuses_a_name_that_is_too_long(void **state)
{
	char url[7 + URL_HOST_NAME_MAX + 2] = "http://";
	struct url_host host;

	(void)state;
	memset(url + 7, 'a', URL_HOST_NAME_MAX);
	assert_int_equal(url_host_find(url, &host), 0);
	assert_int_equal(host.name_len, URL_HOST_NAME_MAX);
	url[7 + URL_HOST_NAME_MAX] = 'a';
	assert_int_equal(url_host_find(url, &host), -EINVAL);
}

static void the_authority_ends_where_the_path_begins(void **state)
{
	static const char *const urls[] = {"http://a.b:80", "https://a.b:80/c?d",
	                                   "http://a.b:80?c/d", "http://a.b:80#c"};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		size_t length = 0;

		assert_memory_equal(url_authority(urls[i], &length), "a.b:80", strlen("a.b:80"));
		assert_int_equal(length, strlen("a.b:80"));
	}
}

static uint32_t hash_of(const char *url)
{
	struct url_host host;

	assert_int_equal(url_host_find(url, &host), 0);
	return url_host_hash(host.name, host.name_len, host.port);
}

static void the_hash_is_of_name_and_port_whatever_the_case(void **state)
{
	(void)state;
	assert_int_equal(hash_of("http://Example.ORG/a"), hash_of("http://example.org:80/b"));
	assert_int_not_equal(hash_of("http://example.org"), hash_of("http://example.org:81"));
	assert_int_not_equal(hash_of("http://example.org"), hash_of("http://example.com"));
	/* A published value: FNV-1a of "foobar", 32 bits. */
	assert_int_equal(url_host_hash("foobar", 6, 0), 0xbf9cf968);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_names),
		cmocka_unit_test(finds_addresses),
		cmocka_unit_test(skips_user_and_password),
		cmocka_unit_test(refuses_what_is_no_url_with_a_host),
		cmocka_unit_test(refuses_a_name_that_is_too_long),
		cmocka_unit_test(the_authority_ends_where_the_path_begins),
		cmocka_unit_test(the_hash_is_of_name_and_port_whatever_the_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
