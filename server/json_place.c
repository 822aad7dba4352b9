#include "server/json_place.h"

#include <stdbool.h>
#include <string.h>

#define BLANKS " \t\r\n"
#define SIGNS "{}[],:"

struct json_place json_place_of_offset(const char *text, size_t offset)
{
	struct json_place place = {1, 1};

	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n')
			place = (struct json_place){place.line + 1, 1};
		else if (((unsigned char)text[i] & 0xC0) != 0x80) /* a character begins */
			place.column++;
	}
	return place;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, BLANKS);
}

/* From the opening quote to behind the closing one; or to the end of the line, if there is none. */
static const char *skip_string(const char *at)
{
	for (at++; *at != '\0' && *at != '\n' && *at != '"'; at++) {
		if (*at == '\\' && at[1] != '\0' && at[1] != '\n')
			at++;
	}
	return *at == '"' ? at + 1 : at;
}

static const char *skip_token(const char *at)
{
	if (*at == '"')
		return skip_string(at);
	if (*at != '\0' && strchr(SIGNS, *at))
		return at + 1;
	return at + strcspn(at, BLANKS SIGNS "\"");
}

static const char *skip_value(const char *at)
{
	unsigned depth = 0;

	do {
		if (*at == '{' || *at == '[')
			depth++;
		else if (*at == '}' || *at == ']')
			depth--;
		at = skip_blanks(skip_token(at));
	} while (depth > 0);
	return at;
}

/* From a key to its value. */
static const char *skip_key(const char *key)
{
	const char *colon = skip_blanks(skip_string(key));

	return skip_blanks(colon + 1);
}

/* Member or element @index of the object or array at @at. */
static const char *find_member(const char *at, size_t index)
{
	bool has_keys = *at == '{';

	at = skip_blanks(at + 1);
	for (; index > 0; index--) {
		const char *comma = skip_value(has_keys ? skip_key(at) : at);

		at = skip_blanks(comma + 1);
	}
	return at;
}

static const char *find_value(const char *text, const struct json_way *way)
{
	const char *parent, *member;

	if (!way)
		return skip_blanks(text);
	parent = find_value(text, way->up);
	member = find_member(parent, way->index);
	return *parent == '{' ? skip_key(member) : member;
}

struct json_place json_place_of_value(const char *text, const struct json_way *way)
{
	return json_place_of_offset(text, (size_t)(find_value(text, way) - text));
}

struct json_place json_place_of_key(const char *text, const struct json_way *way)
{
	const char *key = find_member(find_value(text, way->up), way->index);

	return json_place_of_offset(text, (size_t)(key - text));
}

struct json_place json_place_of_token(const char *text, size_t offset)
{
	const char *start = skip_blanks(text), *end = skip_token(start);

	while (*start != '\0' && end < text + offset) {
		start = skip_blanks(end);
		end = skip_token(start);
	}
	return json_place_of_offset(text, (size_t)(start - text));
}
