#ifndef HANDLERS_CALLS_REPLY_H
#define HANDLERS_CALLS_REPLY_H

#include <stddef.h>

#include "clients/http_header.h"
#include "handlers/text_buffer.h"

/* What a called service has replied, as a part of our answer. */

/** How a body appears in JSON. */
enum calls_reply_kind {
	CALLS_REPLY_TEXT,   /* as a string: it is UTF-8 without NUL */
	CALLS_REPLY_JSON,   /* as itself */
	CALLS_REPLY_BASE64, /* as {"base64":"…"} */
};

/**
 * The kind of a body of @length bytes, with a NUL behind them. JSON is what @content_type, which
 * may be NULL, calls so if it is, no more than 64 deep, and parsed takes up to @memory_bytes. On a
 * task this may take a while: a millisecond for 100 KiB of JSON.
 */
enum calls_reply_kind calls_reply_kind(const char *content_type, const char *body, size_t length,
                                       size_t memory_bytes);

/** Append the body, on one line. */
void calls_reply_print_body(struct text_buffer *buffer, enum calls_reply_kind kind,
                            const char *body, size_t length);

/**
 * Append those of @headers that tell of the body, as a JSON object: names in lower case, values of
 * the same name joined by commas (RFC 9110, 5.3). Others are of the connection, or set cookies, and
 * not for whoever sent the list.
 */
void calls_reply_print_headers(struct text_buffer *buffer, const struct http_header *headers,
                               size_t count);

#endif
