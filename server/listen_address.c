#include "server/listen_address.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "executors/decimal.h"

/* At most five digits, so that nobody wonders what 000080 is. */
static int read_port(const char *text, uint16_t *port)
{
	size_t length = strlen(text);
	uint64_t number;

	if (length > 5 || !decimal_read(text, length, &number) || number > UINT16_MAX)
		return -EINVAL;
	*port = (uint16_t)number;
	return 0;
}

int listen_address_parse(const char *text, struct listen_address *out)
{
	struct listen_address address;
	const char *colon = strrchr(text, ':');
	size_t length;

	if (!colon || read_port(colon + 1, &address.port))
		return -EINVAL;
	length = (size_t)(colon - text);
	if (length >= 2 && text[0] == '[' && colon[-1] == ']') {
		text++;
		length -= 2;
	} else if (memchr(text, ':', length)) {
		return -EINVAL; /* IPv6 without brackets: which colon is the port's? */
	}
	if (length == 0 || length >= sizeof(address.host) || memchr(text, '[', length) ||
	    memchr(text, ']', length))
		return -EINVAL;
	memcpy(address.host, text, length);
	address.host[length] = '\0';
	*out = address;
	return 0;
}

void listen_address_url(const char *host, uint16_t port, char url[LISTEN_ADDRESS_URL_BYTES])
{
	bool is_ipv6 = strchr(host, ':');
	int length = snprintf(url, LISTEN_ADDRESS_URL_BYTES, "http://%s%.253s%s:%u",
	                      is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);

	assert(length > 0 && length < LISTEN_ADDRESS_URL_BYTES);
}
