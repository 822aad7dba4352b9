#include "clients/url_allow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum { PATTERN_BYTES = URL_HOST_NAME_MAX + sizeof("https://[]:65535") };

/* A host without its last point, in lower case; an address in the one way inet_ntop(3) writes it.
 */
struct host {
	size_t length;
	char text[URL_HOST_NAME_MAX + 1];
};

static int refuse(int error, const char **reason, const char *text)
{
	*reason = text;
	return error;
}

/* RFC 3986 has these encoded. Browsers take a backslash for a slash, and so see another host. */
static bool has_odd_bytes(const char *url)
{
	for (; *url; url++)
		if (*url <= ' ' || *url > '~' || strchr("\\\"<>^`{|}", *url))
			return true;
	return false;
}

static bool is_v6(const struct url_host *found)
{
	return found->name[-1] == '[';
}

/* Whether the last label is a number, as only IPv4 addresses have it: inet_aton(3), and so the
 * resolver, takes 127.1, 0x7f000001, 2130706433 and 0177.0.0.1 for one. */
static bool ends_in_number(const struct host *host)
{
	const char *point = strrchr(host->text, '.');
	const char *label = point ? point + 1 : host->text;

	if (label[0] == '0' && label[1] == 'x')
		return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
	return label[0] != '\0' && label[strspn(label, "0123456789")] == '\0';
}

static bool has_empty_label(const struct host *host)
{
	return host->length == 0 || host->text[0] == '.' || host->text[host->length - 1] == '.' ||
	       strstr(host->text, "..");
}

static bool normalize_v6(struct host *host)
{
	struct in6_addr address;

	if (inet_pton(AF_INET6, host->text, &address) != 1 ||
	    !inet_ntop(AF_INET6, &address, host->text, sizeof(host->text)))
		return false; /* it has a zone, which is of this machine alone */
	host->length = strlen(host->text);
	return true;
}

static bool copy_host(const struct url_host *found, struct host *host)
{
	host->length = found->name_len;
	for (size_t i = 0; i < found->name_len; i++) {
		char byte = found->name[i];

		host->text[i] = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
	}
	host->text[host->length] = '\0';
	if (found->is_address && is_v6(found))
		return normalize_v6(host);
	if (host->length > 0 && host->text[host->length - 1] == '.')
		host->text[--host->length] = '\0';
	return found->is_address || (!has_empty_label(host) && !ends_in_number(host));
}

static int read_url(const char *url, struct url_host *found, struct host *host, const char **reason)
{
	if (has_odd_bytes(url))
		return refuse(-EINVAL, reason, "it has a byte that needs percent-encoding");
	if (strchr(url, '#'))
		return refuse(-EINVAL, reason, "a fragment (#) is never sent to a server");
	if (url_host_find(url, found) < 0)
		return refuse(-EINVAL, reason, "it is no http:// or https:// URL with a host");
	if (found->has_user)
		return refuse(-EINVAL, reason, "a user or password is not supported");
	if (!copy_host(found, host))
		return refuse(-EINVAL, reason, "its host is not written in the usual way");
	return 0;
}

static bool is_like(const struct url_pattern *pattern, const struct url_host *found,
                    const struct host *host)
{
	size_t length = strlen(pattern->host);

	if (pattern->is_tls != found->is_tls || pattern->port != found->port)
		return false;
	if (pattern->is_any)
		return true;
	if (!pattern->is_below)
		return strcmp(pattern->host, host->text) == 0;
	return !found->is_address && host->length > length + 1 &&
	       host->text[host->length - length - 1] == '.' &&
	       strcmp(host->text + host->length - length, pattern->host) == 0;
}

int url_allow_check(const struct url_allow *allow, const char *url, const char **reason)
{
	struct url_host found;
	struct host host;
	int error = read_url(url, &found, &host, reason);

	if (error < 0)
		return error;
	for (size_t i = 0; i < allow->count; i++)
		if (is_like(&allow->patterns[i], &found, &host))
			return 0;
	return refuse(-EACCES, reason, "this server may not call it");
}

/* The pattern as a URL of the same length: a name stands in for its star. */
static bool replace_star(const char *text, char url[PATTERN_BYTES], struct url_pattern *pattern)
{
	const char *star = strchr(text, '*');

	memcpy(url, text, strlen(text) + 1);
	if (!star)
		return true;
	if (star < text + 3 || memcmp(star - 3, "://", 3) != 0 || strchr(star + 1, '*'))
		return false;
	url[star - text] = 'a';
	pattern->is_below = star[1] == '.';
	pattern->is_any = star[1] == '\0' || star[1] == ':';
	return pattern->is_below || pattern->is_any;
}

int url_pattern_parse(const char *text, struct url_pattern *out, const char **reason)
{
	char url[PATTERN_BYTES];
	struct url_pattern pattern = {0};
	struct url_host found;
	struct host host;
	const char *name = host.text;
	int error;

	if (strlen(text) >= sizeof(url))
		return refuse(-EINVAL, reason, "it is too long");
	if (!replace_star(text, url, &pattern))
		return refuse(-EINVAL, reason,
		              "a star stands for a whole host or, before a point, for its start");
	error = read_url(url, &found, &host, reason);
	if (error < 0)
		return error;
	if (found.name[found.name_len + strcspn(found.name + found.name_len, "/?")] != '\0')
		return refuse(-EINVAL, reason, "only a scheme, a host and a port are compared");
	if (pattern.is_below && host.length <= strlen("a."))
		return refuse(-EINVAL, reason, "a star with a point is followed by a name");
	if (pattern.is_below)
		name += strlen("a.");
	pattern.is_tls = found.is_tls;
	pattern.port = found.port;
	if (!pattern.is_any)
		memcpy(pattern.host, name, strlen(name) + 1);
	*out = pattern;
	return 0;
}
