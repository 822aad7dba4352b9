#ifndef CLIENTS_SPAN_H
#define CLIENTS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A stretch of text inside a buffer of someone else's; without a NUL. For reading a head. */
struct span {
	const char *data; /* borrowed */
	size_t length;
};

static inline bool span_is(struct span span, const char *text)
{
	return span.length == strlen(text) && memcmp(span.data, text, span.length) == 0;
}

/** ASCII letters of both cases are one, as in names of header fields. */
static inline bool span_is_any_case(struct span span, const char *text)
{
	return span.length == strlen(text) && strncasecmp(span.data, text, span.length) == 0;
}

/** Without the spaces and tabs at both ends: "optional whitespace" of RFC 9110 §5.6.3. */
static inline struct span span_trimmed(struct span span)
{
	while (span.length > 0 && (span.data[0] == ' ' || span.data[0] == '\t'))
		span = (struct span){span.data + 1, span.length - 1};
	while (span.length > 0 &&
	       (span.data[span.length - 1] == ' ' || span.data[span.length - 1] == '\t'))
		span.length--;
	return span;
}

/** Cut @rest at the first @separator and return what is before it; all of it if there is none. */
static inline struct span span_next_part(struct span *rest, char separator)
{
	const char *end = rest->length > 0 ? memchr(rest->data, separator, rest->length) : NULL;
	struct span part = *rest;

	if (!end) {
		*rest = (struct span){rest->data + rest->length, 0};
		return part;
	}
	part.length = (size_t)(end - rest->data);
	*rest = (struct span){end + 1, rest->length - part.length - 1};
	return part;
}

/** The same for the value of a field: a separator within a quoted string (RFC 9110 §5.6.4) does not
 * count, and the part is trimmed. */
static inline struct span span_next_element(struct span *rest, char separator)
{
	bool is_quoted = false;
	struct span part = {rest->data, 0};
	size_t end = 0;

	for (; end < rest->length && (is_quoted || rest->data[end] != separator); end++) {
		if (rest->data[end] == '"')
			is_quoted = !is_quoted;
		else if (rest->data[end] == '\\' && is_quoted && end + 1 < rest->length)
			end++;
	}
	part.length = end;
	end += end < rest->length;
	*rest = (struct span){rest->data + end, rest->length - end};
	return span_trimmed(part);
}

#endif
