#include "handlers/accept.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t"

/* How precisely a range of media types names one. */
enum precision { NOT_AT_ALL, ANY_TYPE, ANY_SUBTYPE, PRECISELY };

struct span {
	const char *text;
	size_t length;
};

/* What an Accept header thinks of one type. */
struct liking {
	enum precision precision;
	unsigned quality; /* in thousandths */
};

static struct span trimmed(struct span span)
{
	while (span.length > 0 && strchr(BLANKS, span.text[0])) {
		span.text++;
		span.length--;
	}
	while (span.length > 0 && strchr(BLANKS, span.text[span.length - 1]))
		span.length--;
	return span;
}

/* Cut off what stands before the next @separator, that of @rest itself included. Quoted strings,
 * which may hold one, are not separated. */
static struct span next_part(struct span *rest, char separator)
{
	bool is_quoted = false;
	size_t end = 0;
	struct span part;

	for (; end < rest->length && (is_quoted || rest->text[end] != separator); end++) {
		if (rest->text[end] == '"')
			is_quoted = !is_quoted;
		else if (rest->text[end] == '\\' && is_quoted && end + 1 < rest->length)
			end++;
	}
	part = (struct span){rest->text, end};
	end += end < rest->length;
	*rest = (struct span){rest->text + end, rest->length - end};
	return trimmed(part);
}

static bool is(struct span span, const char *text, size_t length)
{
	return span.length == length && strncasecmp(span.text, text, length) == 0;
}

static enum precision precision_of(struct span range, const char *type)
{
	size_t main_length = strcspn(type, "/") + 1; /* with the slash */

	if (is(range, type, strlen(type)))
		return PRECISELY;
	if (is(range, "*/*", 3))
		return ANY_TYPE;
	if (range.length == main_length + 1 && range.text[main_length] == '*' &&
	    strncasecmp(range.text, type, main_length) == 0)
		return ANY_SUBTYPE;
	return NOT_AT_ALL;
}

/* "0", "0.5", "1.000": in thousandths; 1000 if it is malformed. */
static unsigned read_quality(struct span value)
{
	unsigned quality = 0, weight = 1000;

	for (size_t i = 0; i < value.length && i < 5; i++) {
		if (i == 1 && value.text[i] == '.')
			continue;
		if (value.text[i] < '0' || value.text[i] > '9')
			return 1000;
		quality += weight * (unsigned)(value.text[i] - '0');
		weight /= 10;
	}
	return quality > 1000 ? 1000 : quality;
}

static unsigned quality_of(struct span parameters)
{
	while (parameters.length > 0) {
		struct span value = next_part(&parameters, ';');
		struct span name = next_part(&value, '=');

		if (is(name, "q", 1))
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
		struct span parameters = next_part(&rest, ',');
		struct span range = next_part(&parameters, ';');
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

	if (!accept || accept[strspn(accept, BLANKS)] == '\0')
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
