#ifndef HANDLERS_UTF8_H
#define HANDLERS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** Whether @text is UTF-8 (RFC 3629): no surrogates, nothing overlong, nothing beyond U+10FFFF, and
 * nothing cut off at its end. Any thread. */
bool utf8_is_valid(const char *text, size_t length);

#endif
