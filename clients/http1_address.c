#include "clients/http1_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "executors/decimal.h"

/* By number or by name. 0: there is none such. */
static uint32_t find_zone(const char *zone)
{
	uint64_t index;

	if (decimal_read(zone, strlen(zone), &index))
		return index <= UINT32_MAX ? (uint32_t)index : 0;
	return if_nametoindex(zone);
}

static bool read_v6(char *text, uint16_t port, struct http1_address *out)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->storage;
	char *zone = strchr(text, '%');

	if (zone)
		*zone++ = '\0';
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		return false;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	v6->sin6_scope_id = zone ? find_zone(zone) : 0;
	out->length = sizeof(*v6);
	return !zone || v6->sin6_scope_id != 0;
}

bool http1_address_read(const char *text, size_t length, uint16_t port, struct http1_address *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&out->storage;
	char copy[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE];

	if (length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	*out = (struct http1_address){0};
	if (inet_pton(AF_INET, copy, &v4->sin_addr) != 1)
		return read_v6(copy, port, out);
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	out->length = sizeof(*v4);
	return true;
}

bool http1_address_take(const char **list, uint16_t port, struct http1_address *out)
{
	while (**list) {
		const char *text = *list;
		size_t length = strcspn(text, ",");

		*list += length + (text[length] == ',');
		if (length > 2 && text[0] == '[') {
			text++;
			length -= 2;
		}
		if (http1_address_read(text, length, port, out))
			return true;
	}
	return false;
}

unsigned http1_address_count(const char *list)
{
	unsigned count = *list != '\0';

	while ((list = strchr(list, ',')) && *++list)
		count++;
	return count;
}
