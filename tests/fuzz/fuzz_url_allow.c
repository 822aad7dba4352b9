#include <arpa/inet.h>
#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/url_allow.h"
#include "tests/fuzz/fuzz.h"

/*
 * URLs that may be called: another parser sees the same scheme, host and port in them, and no user,
 * so that what was allowed is what is called. The first line is a pattern, the second a URL.
 */

static char *part_of(CURLU *url, CURLUPart part)
{
	char *text;

	assert(curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK);
	return text;
}

/* libcurl writes an IPv6 address in its own way, between brackets. */
static void check_v6(const struct url_host *host, char *text)
{
	char ours[INET6_ADDRSTRLEN];
	struct in6_addr one, other;

	assert(host->is_address && host->name_len < sizeof(ours));
	memcpy(ours, host->name, host->name_len);
	ours[host->name_len] = '\0';
	text[strlen(text) - 1] = '\0';
	assert(inet_pton(AF_INET6, ours, &one) == 1 && inet_pton(AF_INET6, text + 1, &other) == 1);
	assert(memcmp(&one, &other, sizeof(one)) == 0);
}

static void check_host(const struct url_host *host, char *text)
{
	if (text[0] == '[')
		check_v6(host, text);
	else
		assert(strlen(text) == host->name_len &&
		       strncasecmp(text, host->name, host->name_len) == 0);
}

static void check(const char *text)
{
	CURLU *url = curl_url();
	struct url_host host;
	char *scheme, *name, *port, *user;

	assert(url_host_find(text, &host) == 0);
	assert(curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK);
	scheme = part_of(url, CURLUPART_SCHEME);
	name = part_of(url, CURLUPART_HOST);
	port = part_of(url, CURLUPART_PORT);
	assert(strcmp(scheme, host.is_tls ? "https" : "http") == 0);
	check_host(&host, name);
	assert(strtoul(port, NULL, 10) == host.port);
	assert(curl_url_get(url, CURLUPART_USER, &user, 0) == CURLUE_NO_USER);
	curl_free(scheme);
	curl_free(name);
	curl_free(port);
	curl_url_cleanup(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1), *url;
	struct url_pattern pattern;
	const char *reason = NULL;

	assert(text);
	memcpy(text, bytes, size);
	text[size] = '\0';
	url = strchr(text, '\n');
	if (url)
		*url++ = '\0';
	if (url && url_pattern_parse(text, &pattern, &reason) == 0 &&
	    url_allow_check(&(struct url_allow){&pattern, 1}, url, &reason) == 0)
		check(url);
	free(text);
	return 0;
}
