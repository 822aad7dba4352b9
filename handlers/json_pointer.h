#ifndef HANDLERS_JSON_POINTER_H
#define HANDLERS_JSON_POINTER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A JSON pointer (RFC 6901), "/requests/3/headers/Accept": which value of a JSON
 * text is meant. Made step by step, from the whole text, which is "", down. A step
 * that does not fit is left out, and so are those below it: then the pointer is
 * that of a value around the one meant.
 */
enum { JSON_POINTER_BYTES = 256 };

struct json_pointer {
	char text[JSON_POINTER_BYTES]; /* NUL-terminated */
	size_t length;                 /* bytes, NUL excluded */
	bool is_cut;                   /* a step did not fit */
};

/** Zeroed is the pointer of the whole text. @key, of @length bytes, is UTF-8. Any thread. */
void json_pointer_add_member(struct json_pointer *pointer, const char *key, size_t length);
void json_pointer_add_element(struct json_pointer *pointer, size_t index);

/**
 * The pointer of the value or key in @text that has the byte before @offset in it, or follows
 * that: where a parser has stopped. @text is anything. Keys are taken as they are spelled there,
 * escapes included; what is below one that has a NUL or is not UTF-8, or more than 64 levels deep,
 * is left out. Any thread.
 */
void json_pointer_of_offset(const char *text, size_t offset, struct json_pointer *out);

#endif
