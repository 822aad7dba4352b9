#include <string.h>
#include <strings.h>

#include "handlers/handler.h"

const char *request_header_next(const struct request *request, const char *name,
                                const char *previous)
{
	const char *place = previous ? previous + strlen(previous) + 1 : request->headers;

	while (place && *place) {
		const char *value = place + strlen(place) + 1;

		if (strcasecmp(place, name) == 0)
			return value;
		place = value + strlen(value) + 1;
	}
	return NULL;
}

const char *request_header(const struct request *request, const char *name)
{
	return request_header_next(request, name, NULL);
}
