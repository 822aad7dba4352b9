#ifndef HANDLERS_ACCEPT_H
#define HANDLERS_ACCEPT_H

#include <stddef.h>

/**
 * Which of the @count media @types, in lower case and without parameters, an Accept header (RFC
 * 9110, 12.5.1) likes best. Among equals the one that is named more precisely, then the earlier
 * one.
 * @accept is the header's value, of all such headers with commas between; NULL or "": anything
 * goes. Parameters other than q are not looked at; what is malformed counts for nothing.
 *
 * Any thread. Returns an index, or -ENOENT: none is acceptable.
 */
int accept_choose(const char *accept, const char *const *types, size_t count);

#endif
