#include "handlers/accept.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "clients/span.h"

/* How precisely a range of media types names one. */
enum precision { NOT_AT_ALL, ANY_TYPE, ANY_SUBTYPE, PRECISELY };

/* What an Accept header thinks of one type. */
struct liking {
	enum precision precision;
	unsigned quality; /* in thousandths */
};

static enum precision precision_of(struct span range, const char *type)
{
	size_t main_length = strcspn(type, "/") + 1; /* with the slash */

	if (span_is_any_case(range, type))
		return PRECISELY;
	if (span_is_any_case(range, "*/*"))
		return ANY_TYPE;
	if (range.length == main_length + 1 && range.data[main_length] == '*' &&
	    strncasecmp(range.data, type, main_length) == 0)
		return ANY_SUBTYPE;
	return NOT_AT_ALL;
}

/* "0", "0.5", "1.000": in thousandths; 1000 if it is malformed. */
static unsigned read_quality(struct span value)
{
	unsigned quality = 0, weight = 1000;

	for (size_t i = 0; i < value.length && i < 5; i++) {
		if (i == 1 && value.data[i] == '.')
			continue;
		if (value.data[i] < '0' || value.data[i] > '9')
			return 1000;
		quality += weight * (unsigned)(value.data[i] - '0');
		weight /= 10;
	}
	return quality > 1000 ? 1000 : quality;
}

static unsigned quality_of(struct span parameters)
{
	while (parameters.length > 0) {
		struct span value = span_next_element(&parameters, ';');
		struct span name = span_next_element(&value, '=');

		if (span_is_any_case(name, "q"))
			return read_quality(value);
	}
	return 1000;
}

/* The most precise range is the one that counts, not the best. */
static struct liking like(const char *accept, const char *type)
{
	struct span rest = {accept, strlen(accept)};
	struct liking liking = {0};

	while (rest.length > 0) {
		struct span parameters = span_next_element(&rest, ',');
		struct span range = span_next_element(&parameters, ';');
		enum precision precision = precision_of(range, type);

		if (precision > liking.precision)
			liking = (struct liking){precision, quality_of(parameters)};
	}
	return liking;
}

int accept_choose(const char *accept, const char *const *types, size_t count)
{
	struct liking best = {0};
	int chosen = -ENOENT;

	if (!accept || accept[strspn(accept, " \t")] == '\0')
		return 0;
	for (size_t i = 0; i < count; i++) {
		struct liking liking = like(accept, types[i]);

		if (liking.quality == 0 || liking.quality < best.quality)
			continue;
		if (liking.quality == best.quality && liking.precision <= best.precision)
			continue;
		best = liking;
		chosen = (int)i;
	}
	return chosen;
}
