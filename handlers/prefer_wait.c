#include "handlers/prefer_wait.h"

#include <stddef.h>
#include <string.h>

#include "clients/span.h"
#include "executors/decimal.h"

/* A value may stand in quotes. */
static struct span without_quotes(struct span value)
{
	if (value.length < 2 || value.data[0] != '"' || value.data[value.length - 1] != '"')
		return value;
	return (struct span){value.data + 1, value.length - 2};
}

bool prefer_wait_read(const char *prefer, uint64_t *seconds)
{
	struct span rest = {prefer, prefer ? strlen(prefer) : 0};

	while (rest.length > 0) {
		struct span preference = span_next_element(&rest, ',');
		struct span value = span_next_element(&preference, ';');
		struct span name = span_next_element(&value, '=');
		uint64_t number;

		if (!span_is_any_case(name, "wait"))
			continue;
		/* The first one counts: RFC 7240, 2. */
		value = without_quotes(span_trimmed(value));
		if (!decimal_read(value.data, value.length, &number))
			return false;
		*seconds = number < UINT32_MAX ? number : UINT32_MAX;
		return true;
	}
	return false;
}
