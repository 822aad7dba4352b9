#ifndef HANDLERS_PREFER_WAIT_H
#define HANDLERS_PREFER_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * How many seconds the client would wait: `wait=10` in a Prefer header (RFC 7240, 4.3). @prefer is
 * the value of all such headers, with commas between; NULL: there are none.
 *
 * Any thread. True with *@seconds set, at most UINT32_MAX. False: no such preference, or it is
 * malformed, which is to be ignored.
 */
bool prefer_wait_read(const char *prefer, uint64_t *seconds);

#endif
