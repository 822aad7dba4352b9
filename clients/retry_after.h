#ifndef CLIENTS_RETRY_AFTER_H
#define CLIENTS_RETRY_AFTER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/**
 * Read the value of a Retry-After field (RFC 9110, 10.2.3), of @length bytes: a number of seconds,
 * or a date in any of its three forms (5.6.7) as seconds from @now. 0 if that has passed; what is
 * too large for *@seconds is the most that fits.
 *
 * False: it is neither; *@seconds is untouched then. Any thread.
 */
bool retry_after_read(const char *value, size_t length, time_t now, unsigned *seconds);

#endif
