#include "server/slow_endpoint_echo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients/span.h"

static int reserve(struct slow_echo *echo, size_t bytes)
{
	size_t capacity = 2 * echo->capacity;
	char *bigger;

	if (bytes <= echo->capacity - echo->length)
		return 0;
	if (capacity < echo->length + bytes)
		capacity = echo->length + bytes;
	bigger = realloc(echo->text, capacity);
	if (!bigger)
		return -ENOMEM;
	echo->text = bigger;
	echo->capacity = capacity;
	return 0;
}

static int add_plain(struct slow_echo *echo, const char *text)
{
	size_t length = strlen(text);
	int error = reserve(echo, length);

	if (error)
		return error;
	memcpy(echo->text + echo->length, text, length);
	echo->length += length;
	return 0;
}

static char *put_escaped(char *at, char byte)
{
	static const char digits[] = "0123456789abcdef";

	if (byte == '"' || byte == '\\') {
		*at++ = '\\';
		*at++ = byte;
	} else if ((unsigned char)byte < ' ') {
		at = stpcpy(at, "\\u00");
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	} else {
		*at++ = byte;
	}
	return at;
}

int slow_echo_add(struct slow_echo *echo, const char *bytes, size_t length)
{
	int error = reserve(echo, length * strlen("\\u0000") + 1);
	char *at;

	if (error)
		return error;
	at = echo->text + echo->length;
	for (size_t i = 0; i < length; i++)
		at = put_escaped(at, bytes[i]);
	echo->length = (size_t)(at - echo->text);
	return 0;
}

/* A string, with @before and @after around it. */
static int add_string(struct slow_echo *echo, const char *before, struct span span,
                      const char *after)
{
	int error = add_plain(echo, before);

	if (!error)
		error = slow_echo_add(echo, span.data, span.length);
	return error ? error : add_plain(echo, after);
}

static int add_request_line(struct slow_echo *echo, struct span line)
{
	struct span method = span_next_part(&line, ' ');
	struct span target = span_next_part(&line, ' ');
	int error = add_string(echo, "{\"method\":\"", method, "\",");

	return error ? error : add_string(echo, "\"target\":\"", target, "\",\"headers\":[");
}

static int add_fields(struct slow_echo *echo, struct span rest)
{
	const char *before = "[\"";
	int error = 0;

	while (rest.length > 0 && !error) {
		struct span value = span_next_part(&rest, '\n');
		struct span name;

		value.length--; /* the CR */
		if (value.length == 0)
			break;
		name = span_next_part(&value, ':');
		error = add_string(echo, before, name, "\",\"");
		if (!error)
			error = add_string(echo, "", span_trimmed(value), "\"]");
		before = ",[\"";
	}
	return error;
}

int slow_echo_begin(struct slow_echo *echo, const char *head, size_t length)
{
	struct span rest = {head, length}, line;
	int error;

	do /* past empty lines, which count for nothing */
		line = span_next_part(&rest, '\n');
	while (line.length <= 1 && rest.length > 0);
	*echo = (struct slow_echo){0};
	error = add_request_line(echo, line);
	if (!error)
		error = add_fields(echo, rest);
	return error ? error : add_plain(echo, "],\"body\":\"");
}

int slow_echo_end(struct slow_echo *echo)
{
	return add_plain(echo, "\"}");
}

void slow_echo_finish(struct slow_echo *echo)
{
	free(echo->text);
	*echo = (struct slow_echo){0};
}
