#include "clients/http1_chunks.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_DIGITS = 2 * sizeof(size_t) };

/* Its value, or -1. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Of an extension or a trailer: no control characters, but for tabs. */
static bool is_text(char c)
{
	return (unsigned char)c >= ' ' ? c != 0x7f : c == '\t';
}

static bool goes_on(struct http1_chunks *chunks, enum http1_chunks_state state)
{
	chunks->state = state;
	return true;
}

/* In the line of a size, after at least one digit. */
static bool read_after_size(struct http1_chunks *chunks, char c)
{
	if (c == '\r')
		return goes_on(chunks, HTTP1_CHUNKS_SIZE_LF);
	if (c == ';')
		return goes_on(chunks, HTTP1_CHUNKS_EXTENSION);
	return (c == ' ' || c == '\t') && ++chunks->extra <= HTTP1_CHUNKS_EXTRA_BYTES &&
	       goes_on(chunks, HTTP1_CHUNKS_PADDING);
}

static bool read_size(struct http1_chunks *chunks, char c)
{
	int digit = hex_digit(c);

	if (digit < 0)
		return chunks->digits > 0 && read_after_size(chunks, c);
	if (chunks->digits == MOST_DIGITS)
		return false;
	chunks->digits++;
	chunks->left = chunks->left << 4 | (size_t)digit;
	return true;
}

/* In text that ends with a CR, which is followed by @next. */
static bool read_text(struct http1_chunks *chunks, char c, enum http1_chunks_state next)
{
	if (c == '\r')
		return goes_on(chunks, next);
	return is_text(c) && ++chunks->extra <= HTTP1_CHUNKS_EXTRA_BYTES;
}

static bool begin_line(struct http1_chunks *chunks, char c)
{
	if (c == '\r')
		return goes_on(chunks, HTTP1_CHUNKS_END_LF);
	chunks->state = HTTP1_CHUNKS_TRAILER;
	return read_text(chunks, c, HTTP1_CHUNKS_TRAILER_LF);
}

static bool begin_size(struct http1_chunks *chunks)
{
	chunks->digits = 0;
	return goes_on(chunks, HTTP1_CHUNKS_SIZE);
}

/* A byte that is not data. False: it must not be there. */
static bool read_framing(struct http1_chunks *chunks, char c)
{
	switch (chunks->state) {
	case HTTP1_CHUNKS_SIZE:
		return read_size(chunks, c);
	case HTTP1_CHUNKS_PADDING:
		return read_after_size(chunks, c);
	case HTTP1_CHUNKS_EXTENSION:
		return read_text(chunks, c, HTTP1_CHUNKS_SIZE_LF);
	case HTTP1_CHUNKS_SIZE_LF:
		return c == '\n' &&
		       goes_on(chunks, chunks->left > 0 ? HTTP1_CHUNKS_DATA : HTTP1_CHUNKS_LINE);
	case HTTP1_CHUNKS_DATA_CR:
		return c == '\r' && goes_on(chunks, HTTP1_CHUNKS_DATA_LF);
	case HTTP1_CHUNKS_DATA_LF:
		return c == '\n' && begin_size(chunks);
	case HTTP1_CHUNKS_LINE:
		return begin_line(chunks, c);
	case HTTP1_CHUNKS_TRAILER:
		return read_text(chunks, c, HTTP1_CHUNKS_TRAILER_LF);
	case HTTP1_CHUNKS_TRAILER_LF:
		return c == '\n' && goes_on(chunks, HTTP1_CHUNKS_LINE);
	case HTTP1_CHUNKS_END_LF:
		return c == '\n' && goes_on(chunks, HTTP1_CHUNKS_OVER);
	case HTTP1_CHUNKS_DATA:
	case HTTP1_CHUNKS_OVER:
		break;
	}
	return false;
}

enum http1_chunks_result http1_chunks_read(struct http1_chunks *chunks, char *bytes, size_t length,
                                           size_t *data_bytes, size_t *used)
{
	size_t at = 0, data = 0;

	while (at < length && chunks->state != HTTP1_CHUNKS_OVER) {
		if (chunks->state == HTTP1_CHUNKS_DATA) {
			size_t piece = length - at < chunks->left ? length - at : chunks->left;

			memmove(bytes + data, bytes + at, piece);
			data += piece;
			at += piece;
			chunks->left -= piece;
			if (chunks->left == 0)
				chunks->state = HTTP1_CHUNKS_DATA_CR;
		} else if (!read_framing(chunks, bytes[at++])) {
			return HTTP1_CHUNKS_MALFORMED;
		}
	}
	*data_bytes = data;
	*used = at;
	return chunks->state == HTTP1_CHUNKS_OVER ? HTTP1_CHUNKS_WHOLE : HTTP1_CHUNKS_MORE;
}
