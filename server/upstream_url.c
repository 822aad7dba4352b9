#include "server/upstream_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "server/listen_address.h"

/* The rest of @url after the scheme, or NULL. */
static const char *after_scheme(const char *url)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t bytes = strlen(schemes[i]);

		if (strncasecmp(url, schemes[i], bytes) == 0)
			return url + bytes;
	}
	return NULL;
}

static bool is_printable(const char *text)
{
	for (; *text; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

static bool is_host(const char *host, bool in_brackets)
{
	struct in6_addr ignored;

	if (in_brackets)
		return inet_pton(AF_INET6, host, &ignored) == 1;
	for (; *host; host++) {
		if (!isalnum((unsigned char)*host) && !strchr("-._", *host))
			return false;
	}
	return true;
}

/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT: as an address to listen on, but for the port. */
static const char *check_authority(const char *text, size_t bytes)
{
	static const char default_port[] = ":80";
	struct listen_address address;
	char authority[sizeof(address.host) + sizeof("[]:65535")];
	bool has_port;

	if (bytes == 0 || text[0] == ':')
		return "the host is missing";
	if (memchr(text, '@', bytes))
		return "a user or password is not supported";
	if (bytes + sizeof(default_port) > sizeof(authority))
		return "the host is too long";
	has_port = text[0] == '[' ? text[bytes - 1] != ']' : memchr(text, ':', bytes) != NULL;
	memcpy(authority, text, bytes);
	if (has_port)
		authority[bytes] = '\0';
	else
		memcpy(authority + bytes, default_port, sizeof(default_port));
	if (listen_address_parse(authority, &address) < 0 || !is_host(address.host, text[0] == '['))
		return "its host or port is malformed";
	return address.port == 0 ? "the port is 0" : NULL;
}

static const char *check(const char *url)
{
	const char *authority = after_scheme(url);

	if (!authority)
		return "it does not start with http:// or https://";
	if (!is_printable(url))
		return "it has a space or another character that needs percent-encoding";
	if (strchr(url, '#'))
		return "a fragment (#) is never sent to a server";
	return check_authority(authority, strcspn(authority, "/?"));
}

int upstream_url_check(const char *url, const char **reason)
{
	const char *mistake = check(url);

	if (!mistake)
		return 0;
	*reason = mistake;
	return -EINVAL;
}
