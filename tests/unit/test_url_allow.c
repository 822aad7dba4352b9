#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clients/url_allow.h"
#include "tests/with_cmocka.h"

static struct url_pattern pattern_of(const char *text)
{
	struct url_pattern pattern;
	const char *reason = "";

	if (url_pattern_parse(text, &pattern, &reason) != 0)
		fail_msg("%s: %s", text, reason);
	return pattern;
}

/* Whether @url may be called if only what is like @text may. */
static int check(const char *text, const char *url)
{
	struct url_pattern pattern = pattern_of(text);
	const char *reason = NULL;
	int error = url_allow_check(&(struct url_allow){&pattern, 1}, url, &reason);

	assert_int_equal(reason == NULL, error == 0);
	return error;
}

static void assert_allowed(const char *text, const char *url)
{
	if (check(text, url) != 0)
		fail_msg("%s does not allow %s", text, url);
}

static void assert_refused(const char *text, const char *url)
{
	if (check(text, url) != -EACCES)
		fail_msg("%s: %s is %d", text, url, check(text, url));
}

static void scheme_host_and_port_must_all_be_alike(void **state)
{
	static const char api[] = "https://api.example.com";

	(void)state;
	assert_allowed(api, "https://api.example.com");
	assert_allowed(api, "https://api.example.com/a/b?c=d@e:f//g");
	assert_allowed(api, "https://api.example.com:443/");
	assert_allowed(api, "https://api.example.com:/");
	assert_allowed(api, "HTTPS://API.Example.COM/");
	assert_allowed(api, "https://api.example.com./");
	assert_allowed("https://API.example.com.:443", "https://api.example.com/");
	assert_refused(api, "http://api.example.com/");
	assert_refused(api, "https://api.example.com:8443/");
	assert_refused(api, "https://api.example.com:80/");
	assert_refused(api, "https://example.com/");
	assert_refused(api, "https://a.api.example.com/");
	assert_refused(api, "https://api.example.com.evil.example/");
	assert_refused(api, "https://xapi.example.com/");
	assert_refused("http://api.example.com", "http://api.example.com:443/");
	assert_allowed("http://api.example.com:8080", "http://api.example.com:8080/x");
	assert_refused("http://api.example.com:8080", "http://api.example.com/x");
}

static void a_star_is_any_name_below(void **state)
{
	static const char below[] = "https://*.example.com:8443";

	(void)state;
	assert_allowed(below, "https://a.example.com:8443/");
	assert_allowed(below, "https://a.b.Example.com.:8443/");
	assert_refused(below, "https://a.example.com/");
	assert_refused(below, "https://example.com:8443/");
	assert_refused(below, "https://aexample.com:8443/");
	assert_refused(below, "https://a.example.com.evil.example:8443/");
	assert_refused(below, "http://a.example.com:8443/");
}

static void a_star_alone_is_any_host_with_that_scheme_and_port(void **state)
{
	(void)state;
	assert_allowed("https://*", "https://a.example/");
	assert_allowed("https://*", "https://93.184.216.34/");
	assert_allowed("https://*", "https://[2606:4700::1111]/");
	assert_refused("https://*", "http://a.example/");
	assert_refused("https://*", "https://a.example:444/");
	assert_allowed("http://*:8080", "http://a.example:8080/");
}

static void addresses_are_compared_as_such(void **state)
{
	(void)state;
	assert_allowed("http://192.0.2.1", "http://192.0.2.1/");
	assert_refused("http://192.0.2.1", "http://192.0.2.10/");
	assert_allowed("http://[2001:DB8:0:0::1]:81", "http://[2001:db8::1]:81/");
	assert_allowed("http://[2001:db8::1]:81", "http://[2001:0db8:0000::0:1]:81/");
	assert_refused("http://[2001:db8::1]", "http://[2001:db8::2]/");
	assert_refused("http://*.example", "http://[2001:db8::1]/");
}

static void any_of_several_patterns_will_do(void **state)
{
	const struct url_pattern patterns[] = {pattern_of("https://a.example"),
	                                       pattern_of("https://b.example")};
	const struct url_allow allow = {patterns, 2};
	const char *reason;

	(void)state;
	assert_int_equal(url_allow_check(&allow, "https://a.example/", &reason), 0);
	assert_int_equal(url_allow_check(&allow, "https://b.example/", &reason), 0);
	assert_int_equal(url_allow_check(&allow, "https://c.example/", &reason), -EACCES);
	assert_int_equal(url_allow_check(&(struct url_allow){0}, "https://a.example/", &reason),
	                 -EACCES);
}

static void a_url_in_which_hosts_may_be_mistaken_is_none(void **state)
{
	static const char *const bad[] = {
		"",
		"/path",
		"//a.example/",
		"a.example",
		"ftp://a.example/",
		"file:///etc/passwd",
		"gopher://a.example/",
		"http:a.example",
		"http:/a.example/",
		"http:///a.example/",
		"http:\\\\a.example\\",
		"http://",
		"http:///",
		"http://?x",
		"http://:80/",
		"http://user@a.example/",
		"http://user:word@a.example/",
		"http://@a.example/",
		"http://:@a.example/",
		"http://a.example@evil.example/",
		"http://a.example:80@evil.example/",
		"http://a.example%40evil.example/",
		"http://a.example\\@evil.example/",
		"http://a.example\\.evil.example/",
		"http://a.example#@evil.example/",
		"http://a.example/#fragment",
		"http://a.example\t/",
		"http://a.example /",
		" http://a.example/",
		"http://a.example\r\nHost: b/",
		"http://a.example/\x7f",
		"http://a.example/\xc3\xa4",
		"http://\xef\xbd\x81.example/",  /* a full-width a */
		"http://a\xe3\x80\x82.example/", /* an ideographic full stop */
		"http://a..example/",
		"http://a.example../",
		"http://.a.example/",
		"http://./",
		"http://a.example:0/",
		"http://a.example:65536/",
		"http://a.example:80:80/",
		"http://a.example:8o/",
		"http://a%2eexample/",
		"http://2130706433/",
		"http://0x7f000001/",
		"http://0X7F.1/",
		"http://017700000001/",
		"http://0177.0.0.1/",
		"http://127.1/",
		"http://127.0.0.1./",
		"http://127.0.0.01/",
		"http://0/",
		"http://0x/",
		"http://a.0/",
		"http://256.1.1.1/",
		"http://1.2.3.4.5/",
		"http://[::1",
		"http://[::1]x/",
		"http://::1/",
		"http://[fe80::1%25eth0]/",
		"http://[fe80::1%eth0]/",
		"http://[127.0.0.1]/",
		"http://[a.example]/",
		"http://{a}/",
		"http://*/",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (check("http://*", bad[i]) != -EINVAL)
			fail_msg("\"%s\" is %d", bad[i], check("http://*", bad[i]));
}

static void patterns_say_what_is_wrong_with_them(void **state)
{
	static const struct {
		const char *text, *reason;
	} bad[] = {
		{"", "http:// or https://"},
		{"api.example.com", "http:// or https://"},
		{"*", "star"},
		{"*.example.com", "star"},
		{"*://a.example", "star"},
		{"https://a.*.example", "star"},
		{"https://a*.example", "star"},
		{"https://**", "star"},
		{"https://*.*", "star"},
		{"https://*a.example", "star"},
		{"https://*/", "star"},
		{"https://a.example:*", "star"},
		{"https://a.example/", "only"},
		{"https://a.example/path", "only"},
		{"https://a.example?query", "only"},
		{"https://*.example/path", "only"},
		{"https://user@a.example", "user"},
		{"https://a.example:0", "host"},
		{"https://a.example:99999", "host"},
		{"https://*.0.0.1", "usual way"},
		{"https://*.", "followed by a name"},
		{"https://127.1", "usual way"},
		{"https://a.example\n", "percent-encoding"},
	};
	struct url_pattern pattern;
	char longest[400];
	const char *reason;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		reason = "nothing";
		if (url_pattern_parse(bad[i].text, &pattern, &reason) != -EINVAL ||
		    !strstr(reason, bad[i].reason))
			fail_msg("\"%s\": %s", bad[i].text, reason);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	memcpy(longest, "https://", strlen("https://"));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(url_pattern_parse(longest, &pattern, &reason), -EINVAL);
	longest[strlen("https://") + URL_HOST_NAME_MAX] = '\0';
	assert_int_equal(url_pattern_parse(longest, &pattern, &reason), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scheme_host_and_port_must_all_be_alike),
		cmocka_unit_test(a_star_is_any_name_below),
		cmocka_unit_test(a_star_alone_is_any_host_with_that_scheme_and_port),
		cmocka_unit_test(addresses_are_compared_as_such),
		cmocka_unit_test(any_of_several_patterns_will_do),
		cmocka_unit_test(a_url_in_which_hosts_may_be_mistaken_is_none),
		cmocka_unit_test(patterns_say_what_is_wrong_with_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
