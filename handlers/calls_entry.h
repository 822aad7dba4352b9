#ifndef HANDLERS_CALLS_ENTRY_H
#define HANDLERS_CALLS_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/calls_violation.h"

/* One call as the client asks for it: an element of `requests`, checked. */

enum calls_body {
	CALLS_BODY_NONE,
	CALLS_BODY_JSON,   /* any JSON value: sent as JSON text */
	CALLS_BODY_TEXT,   /* a string, beside a content-type header: sent as it is */
	CALLS_BODY_BASE64, /* {"base64":"…"}: sent decoded */
};

/** Everything is borrowed from the tree, or static. */
struct calls_entry {
	const char *id; /* 1 … 256 bytes */
	size_t id_length;
	const char *method; /* in upper case */
	const char *url;    /* a path with query, or absolute: printable ASCII, no fragment */
	size_t url_length;
	const char *upstream;     /* NULL: not given */
	json_t *headers;          /* an object of texts that may be sent; NULL: not given */
	const char *content_type; /* of @headers; NULL: none */
	enum calls_body body_kind;
	const json_t *body;       /* CALLS_BODY_BASE64: the string */
	const json_t *depends_on; /* an array of strings; NULL: not given */
	unsigned timeout_ms;      /* 0: not given */
};

enum { CALLS_ID_MAX_BYTES = 256, CALLS_URL_MAX_BYTES = 8192, CALLS_HEADERS_MAX = 64 };

/** A path, which needs an upstream to be taken against; else it is absolute. Any thread. */
static inline bool calls_entry_is_path(const struct calls_entry *entry)
{
	return entry->url[0] == '/';
}

/**
 * Read element @index of `requests`. Any thread; allocates nothing. Returns 0, or -EINVAL with
 * @violation filled in.
 */
int calls_entry_read(json_t *value, size_t index, int64_t max_timeout_ms, struct calls_entry *out,
                     struct calls_violation *violation);

#endif
