#ifndef SERVER_JSON_PLACE_H
#define SERVER_JSON_PLACE_H

#include <stddef.h>

/*
 * Where in a JSON text a value stands: what jansson, once it has read the text,
 * no longer knows. Looked up again from the text when somebody wants to be told.
 */

/** The way to a value: its place in its object or array, from 0, and the way to that. NULL is the
 * way to the value of the whole text. */
struct json_way {
	const struct json_way *up;
	size_t index;
};

/** A place in a text as people count: both from 1, columns in characters. */
struct json_place {
	unsigned line, column;
};

/** The place of the byte at @offset of @text, which is UTF-8 up to there. */
struct json_place json_place_of_offset(const char *text, size_t offset);

/** The place of a value's first character. @text is JSON that jansson has taken, NUL-terminated;
 * @way leads to a value in it. */
struct json_place json_place_of_value(const char *text, const struct json_way *way);

/** The place of the key of an object's member; @way is not NULL. */
struct json_place json_place_of_key(const char *text, const struct json_way *way);

/** The place of the first character of the word, sign or string that has the byte before @offset
 * in it, or if that is a blank of what follows. @text is anything, NUL-terminated. */
struct json_place json_place_of_token(const char *text, size_t offset);

#endif
