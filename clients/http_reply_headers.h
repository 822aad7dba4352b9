#ifndef CLIENTS_HTTP_REPLY_HEADERS_H
#define CLIENTS_HTTP_REPLY_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/http_client.h"

/* Of a head. A reply that has more is malformed, as far as we are concerned. */
enum {
	HTTP_HEAD_MAX_BYTES = 16 * 1024,
	HTTP_HEADERS_MAX = 128,
};

/*
 * What a client leaves in a call of a reply's headers: for those that implement
 * struct http_client_ops. All headers of a reply are one block of memory, so that
 * a caller who has done with them frees one thing.
 */
struct http_reply_headers {
	struct http_header *headers; /* owned: the block, with the texts after the array */
	size_t count;                /* added so far */
	size_t room;                 /* headers */
	char *text;                  /* where the next name goes */
	size_t text_room;            /* bytes */
};

/** Room for @count headers whose names and values are @text_bytes, with a NUL each. Returns 0 or
 * -ENOMEM. Any thread. */
int http_reply_headers_init(struct http_reply_headers *headers, size_t count, size_t text_bytes);

/** There is room for it. Any thread. */
void http_reply_headers_add(struct http_reply_headers *headers, const char *name, size_t name_len,
                            const char *value, size_t value_len);

/** They are the call's from now on, which has none. Any thread. */
void http_reply_headers_move(struct http_reply_headers *headers, struct http_call *call);

/** Whether @status is one whose Retry-After says when to make the call again. */
bool http_asks_for_patience(int status);

/** Note in @call what a Retry-After says, if it can be read; the first one holds. Any thread. */
void http_note_retry_after(struct http_call *call, const char *value, size_t value_len);

#endif
