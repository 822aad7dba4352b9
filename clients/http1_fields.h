#ifndef CLIENTS_HTTP1_FIELDS_H
#define CLIENTS_HTTP1_FIELDS_H

#include "clients/http_client.h"
#include "clients/phr.h"

/* What the http1 client takes from the fields of a reply's head, @count at @fields. */

/** What they count as a part of a reply: names and values, with a NUL each. Any thread. */
size_t http1_fields_bytes(const struct phr_header *fields, size_t count);

/** Copy them to @call as its reply's headers. Returns 0 or -ENOMEM. Any thread. */
int http1_fields_keep(const struct phr_header *fields, size_t count, struct http_call *call);

/** Note in @call when to try again, if they say so. Any thread. */
void http1_fields_note_retry_after(const struct phr_header *fields, size_t count,
                                   struct http_call *call);

#endif
