#ifndef HANDLERS_TEXT_BUFFER_H
#define HANDLERS_TEXT_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Text that grows at its end up to a limit, for answers too long to be built as
 * a tree of values first. Integers only: printf() of a double takes several KiB
 * of stack, which a task does not have to spare.
 *
 * An append that fails leaves its error in the buffer and makes every later one
 * do nothing, so that it is checked once, at the end.
 */
struct text_buffer {
	char *data;       /* owned; no NUL at the end. NULL while empty */
	size_t length;    /* bytes */
	size_t capacity;  /* bytes */
	size_t max_bytes; /* what capacity may not exceed */
	int error;        /* 0; -ENOBUFS over @max_bytes; -ENOMEM */
};

/** Allocates nothing. */
void text_buffer_init(struct text_buffer *buffer, size_t max_bytes);

/** Free the text and forget the error: as after text_buffer_init(). */
void text_buffer_finish(struct text_buffer *buffer);

/** @text without its NUL; @bytes whatever they are; @number in decimal. */
void text_buffer_append_bytes(struct text_buffer *buffer, const char *bytes, size_t count);
static inline void text_buffer_append(struct text_buffer *buffer, const char *text)
{
	text_buffer_append_bytes(buffer, text, strlen(text)); /* of a literal, known beforehand */
}
void text_buffer_append_unsigned(struct text_buffer *buffer, uint64_t number);

/** "0x7f3e" for @number. */
void text_buffer_append_hex(struct text_buffer *buffer, uint64_t number);

/** @text, which is UTF-8, as a JSON string with its quotes; or without them. */
void text_buffer_append_quoted(struct text_buffer *buffer, const char *text);
void text_buffer_append_escaped(struct text_buffer *buffer, const char *text, size_t count);

/** @tenths as a number with one decimal: 10132 is "1013.2". */
void text_buffer_append_tenths(struct text_buffer *buffer, uint64_t tenths);

/** Take the last byte away if it is @byte: the comma after the last member of a list. */
void text_buffer_trim(struct text_buffer *buffer, char byte);

/** Back to the first @length bytes, and without the error: as if the rest had never been appended.
 */
void text_buffer_cut(struct text_buffer *buffer, size_t length);

/** On success the text is the caller's, to be freed, and the buffer empty. Returns 0 or error. */
int text_buffer_take(struct text_buffer *buffer, char **data, size_t *length);

#endif
