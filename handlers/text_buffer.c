#include "handlers/text_buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024, MAX_DIGITS = 20 };

void text_buffer_init(struct text_buffer *buffer, size_t max_bytes)
{
	*buffer = (struct text_buffer){.max_bytes = max_bytes};
}

void text_buffer_finish(struct text_buffer *buffer)
{
	free(buffer->data);
	text_buffer_init(buffer, buffer->max_bytes);
}

/* The capacity for @needed bytes: doubled, so that appending is linear over all. */
static size_t next_capacity(const struct text_buffer *buffer, size_t needed)
{
	size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;

	while (capacity < needed && capacity <= buffer->max_bytes / 2)
		capacity *= 2;
	if (capacity < needed || capacity > buffer->max_bytes)
		return buffer->max_bytes;
	return capacity;
}

/* Room for @count more bytes, or the error is set. */
static int make_room(struct text_buffer *buffer, size_t count)
{
	size_t capacity;
	char *data;

	if (buffer->error)
		return buffer->error;
	if (count <= buffer->capacity - buffer->length)
		return 0;
	if (count > buffer->max_bytes - buffer->length)
		return buffer->error = -ENOBUFS;
	capacity = next_capacity(buffer, buffer->length + count);
	data = realloc(buffer->data, capacity);
	if (!data)
		return buffer->error = -ENOMEM;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

void text_buffer_append_bytes(struct text_buffer *buffer, const char *bytes, size_t count)
{
	if (count == 0 || make_room(buffer, count))
		return;
	memcpy(buffer->data + buffer->length, bytes, count);
	buffer->length += count;
}

void text_buffer_append_unsigned(struct text_buffer *buffer, uint64_t number)
{
	char digits[MAX_DIGITS];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	text_buffer_append_bytes(buffer, digits + at, sizeof(digits) - at);
}

void text_buffer_append_hex(struct text_buffer *buffer, uint64_t number)
{
	char digits[MAX_DIGITS];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[number % 16];
		number /= 16;
	} while (number > 0);
	digits[--at] = 'x';
	digits[--at] = '0';
	text_buffer_append_bytes(buffer, digits + at, sizeof(digits) - at);
}

static bool needs_escape(char byte)
{
	return byte == '"' || byte == '\\' || (unsigned char)byte < ' ';
}

/* RFC 8259, 7: those that are common have a short form. */
static void append_escape(struct text_buffer *buffer, char byte)
{
	static const char plain[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
	const char *found = byte ? strchr(plain, byte) : NULL;
	char brief[] = {'\\', 0};
	char escape[] = "\\u00xx";

	escape[4] = "0123456789abcdef"[(unsigned char)byte / 16];
	escape[5] = "0123456789abcdef"[(unsigned char)byte % 16];
	if (!found) {
		text_buffer_append_bytes(buffer, escape, sizeof(escape) - 1);
		return;
	}
	brief[1] = letters[found - plain];
	text_buffer_append_bytes(buffer, brief, sizeof(brief));
}

void text_buffer_append_escaped(struct text_buffer *buffer, const char *text, size_t count)
{
	const char *end = text + count;

	while (text < end) {
		const char *start = text;

		while (text < end && !needs_escape(*text))
			text++;
		text_buffer_append_bytes(buffer, start, (size_t)(text - start));
		if (text < end)
			append_escape(buffer, *text++);
	}
}

void text_buffer_append_quoted(struct text_buffer *buffer, const char *text)
{
	text_buffer_append_bytes(buffer, "\"", 1);
	text_buffer_append_escaped(buffer, text, strlen(text));
	text_buffer_append_bytes(buffer, "\"", 1);
}

void text_buffer_append_tenths(struct text_buffer *buffer, uint64_t tenths)
{
	text_buffer_append_unsigned(buffer, tenths / 10);
	text_buffer_append(buffer, ".");
	text_buffer_append_unsigned(buffer, tenths % 10);
}

void text_buffer_trim(struct text_buffer *buffer, char byte)
{
	if (buffer->length > 0 && buffer->data[buffer->length - 1] == byte)
		buffer->length--;
}

void text_buffer_cut(struct text_buffer *buffer, size_t length)
{
	assert(length <= buffer->length);
	buffer->length = length;
	buffer->error = 0;
}

int text_buffer_take(struct text_buffer *buffer, char **data, size_t *length)
{
	if (buffer->error)
		return buffer->error;
	*data = buffer->data;
	*length = buffer->length;
	text_buffer_init(buffer, buffer->max_bytes);
	return 0;
}
