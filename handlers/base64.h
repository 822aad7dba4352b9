#ifndef HANDLERS_BASE64_H
#define HANDLERS_BASE64_H

#include <stddef.h>

#include "handlers/text_buffer.h"

/* Base64 with padding: RFC 4648, 4. */

/** Append @bytes, encoded, without line breaks. Any thread. */
void base64_append(struct text_buffer *buffer, const char *bytes, size_t count);

/** At most so many bytes are what @length characters of base64 stand for. */
size_t base64_decoded_bytes(size_t length);

/**
 * Decode @text into @bytes, which has room for base64_decoded_bytes(). Strictly: no white space,
 * padding in full, unused bits 0. Any thread. Returns 0 with *@count set, or -EINVAL.
 */
int base64_decode(const char *text, size_t length, char *bytes, size_t *count);

#endif
