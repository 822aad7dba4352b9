#include "clients/http_header.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcasecmp(name, *names) != 0)
		names++;
	return *names;
}

static bool is_token_byte(char byte)
{
	char lower = (char)(byte | 0x20);

	if ((lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9'))
		return true;
	return byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte);
}

bool http_header_name_is_valid(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!is_token_byte(name[i]))
			return false;
	return length > 0;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* Whether none of the eight bytes at @text is a control character: below a space, or a DEL. By
 * the usual trick with borrows
 * (https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord); a tab is one, too. */
static bool is_plain_word(const char *text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
	uint64_t word, xored;

	memcpy(&word, text, sizeof(word));
	xored = word ^ ones * 0x7f;
	return ((((word - ones * ' ') & ~word) | ((xored - ones) & ~xored)) & highs) == 0;
}

bool http_header_value_is_valid(const char *value, size_t length)
{
	size_t i = 0;

	while (i < length) {
		if (length - i >= 8 && is_plain_word(value + i)) {
			i += 8;
			continue;
		}
		if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
			return false;
		i++;
	}
	return length == 0 || (!is_blank(value[0]) && !is_blank(value[length - 1]));
}

bool http_header_is_valid(const struct http_header *header)
{
	return http_header_name_is_valid(header->name, strlen(header->name)) &&
	       http_header_value_is_valid(header->value, strlen(header->value));
}

bool http_header_is_named(const struct http_header *header, const char *name)
{
	return strcasecmp(header->name, name) == 0;
}

const char *http_header_find(const struct http_header *headers, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (http_header_is_named(&headers[i], name))
			return headers[i].value;
	return NULL;
}

bool http_header_is_hop_by_hop(const char *name)
{
	static const char *const names[] = {
		"Connection",
		"Keep-Alive",
		"Proxy-Authenticate",
		"Proxy-Authorization",
		"Proxy-Connection",
		"TE",
		"Trailer",
		"Transfer-Encoding",
		"Upgrade",
		"HTTP2-Settings",
		NULL,
	};

	return is_one_of(name, names);
}

bool http_header_is_reserved(const char *name)
{
	static const char *const names[] = {"Host", "Content-Length", "Expect", NULL};

	return is_one_of(name, names) || http_header_is_hop_by_hop(name);
}
