#ifndef EXECUTORS_DECIMAL_H
#define EXECUTORS_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Read the @length bytes at @text as a decimal number: digits alone, at least one, whatever the
 * locale; leading zeros mean nothing. Any thread.
 *
 * False: something else stands there, or it does not fit; *@out is untouched then.
 */
bool decimal_read(const char *text, size_t length, uint64_t *out);

#endif
