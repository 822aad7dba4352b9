#include "clients/url_host.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "executors/decimal.h"

/* The authority is what stands between "//" and the path; the host what follows "user:word@". */
static const char *find_authority(const char *url, struct url_host *out, size_t *length)
{
	const char *authority, *end, *at;

	if (strncasecmp(url, "http://", 7) == 0)
		authority = url + 7;
	else if (strncasecmp(url, "https://", 8) == 0)
		authority = url + 8;
	else
		return NULL;
	out->is_tls = authority == url + 8;

	end = authority + strcspn(authority, "/?#");
	at = memrchr(authority, '@', (size_t)(end - authority));
	out->has_user = at;
	if (at)
		authority = at + 1;
	*length = (size_t)(end - authority);
	return authority;
}

static bool is_address(int family, const char *name, size_t name_len)
{
	char text[INET6_ADDRSTRLEN], *zone;
	struct in6_addr address;

	if (name_len >= sizeof(text))
		return false;
	memcpy(text, name, name_len);
	text[name_len] = '\0';
	zone = family == AF_INET6 ? strchr(text, '%') : NULL;
	if (zone)
		*zone = '\0';
	return inet_pton(family, text, &address) == 1;
}

static bool is_name(const char *name, size_t name_len)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";

	return name_len > 0 && name_len <= URL_HOST_NAME_MAX && strspn(name, allowed) >= name_len;
}

/* @text is ":PORT" or nothing, as both ":" and "" mean the default. */
static int read_port(const char *text, size_t length, struct url_host *out)
{
	uint64_t port;

	if (length > 0 && text[0] != ':')
		return -EINVAL;
	if (length <= 1) {
		out->port = out->is_tls ? 443 : 80;
		return 0;
	}
	if (!decimal_read(text + 1, length - 1, &port) || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	out->port = (uint16_t)port;
	return 0;
}

int url_host_find(const char *url, struct url_host *out)
{
	struct url_host found = {0};
	size_t length;
	const char *authority = find_authority(url, &found, &length), *end, *after;
	int error;

	if (!authority || length == 0)
		return -EINVAL;

	if (authority[0] == '[') {
		end = memchr(authority, ']', length);
		if (!end)
			return -EINVAL;
		found.name = authority + 1;
		after = end + 1;
	} else {
		end = memchr(authority, ':', length);
		if (!end)
			end = authority + length;
		found.name = authority;
		after = end;
	}
	found.name_len = (size_t)(end - found.name);
	found.is_address =
		is_address(authority[0] == '[' ? AF_INET6 : AF_INET, found.name, found.name_len);
	if (!found.is_address && (authority[0] == '[' || !is_name(found.name, found.name_len)))
		return -EINVAL;
	error = read_port(after, (size_t)(authority + length - after), &found);
	if (error < 0)
		return error;
	*out = found;
	return 0;
}

const char *url_authority(const char *url, size_t *length)
{
	const char *authority = strstr(url, "://");

	assert(authority);
	authority += strlen("://");
	*length = strcspn(authority, "/?#");
	return authority;
}

/* http://www.isthe.com/chongo/tech/comp/fnv/ */
uint32_t url_host_hash(const char *name, size_t name_len, uint16_t port)
{
	uint32_t hash = 2166136261u ^ port;

	for (size_t i = 0; i < name_len; i++)
		hash = (hash ^ (unsigned char)(name[i] | 0x20)) * 16777619u; /* names are ASCII */
	return hash;
}
