#ifndef SERVER_PROTOCOL_ERRORS_H
#define SERVER_PROTOCOL_ERRORS_H

#include <h2o.h>

/**
 * Give the errors that h2o itself answers (413, 417, a body it cannot read) the form of ours,
 * application/problem+json. Only a request line or header that it cannot parse still gets its
 * plain text, which bypasses all filters.
 */
void protocol_errors_register(h2o_hostconf_t *host);

#endif
