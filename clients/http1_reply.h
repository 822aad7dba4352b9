#ifndef CLIENTS_HTTP1_REPLY_H
#define CLIENTS_HTTP1_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/http1_chunks.h"
#include "clients/http_reply_headers.h"
#include "clients/phr.h"

/*
 * Reads one HTTP/1 reply (RFC 9112) from bytes, however they are cut into
 * pieces: bytes in, status and pieces of the body out. No I/O, no allocation.
 *
 * Strict: what is malformed, or could be read in two ways, is refused, since the
 * next reply on the connection would be taken for another's. That is: a version
 * other than 1.0 and 1.1, folded lines, control characters, a Content-Length given
 * twice or beside a Transfer-Encoding, any Transfer-Encoding but "chunked".
 */
enum {
	HTTP1_HEAD_MAX_BYTES = HTTP_HEAD_MAX_BYTES, /* of one head; interim replies have one each */
	HTTP1_HEADERS_MAX = HTTP_HEADERS_MAX,
	HTTP1_INTERIM_MAX = 16, /* replies 1xx before the real one */
};

enum http1_part {
	HTTP1_PART_HEAD, /* zero: before the first byte */
	HTTP1_PART_COUNTED,
	HTTP1_PART_CHUNKED,
	HTTP1_PART_TO_END, /* of the connection */
	HTTP1_PART_OVER,
};

/** Zero it, and fill in the first lines. */
struct http1_reply {
	bool is_to_head;       /* to a HEAD request: it has no body, whatever it says */
	size_t max_body_bytes; /* a longer one is HTTP1_TOO_LARGE; below SIZE_MAX */
	bool counts_fields;    /* those of the head count against it, as http1_fields_bytes() says;
	                          it is what is left once the head has been read */

	/* Valid once the part is not HTTP1_PART_HEAD any more. */
	int status;      /* 200 … 999 */
	bool keep_alive; /* the connection is for another request, once this reply is whole */
	size_t length;   /* of the body, if HTTP1_PART_COUNTED */

	size_t field_count; /* of the head: in the @headers of the call that has read it */

	enum http1_part part;
	size_t body_bytes; /* so far */
	const char *fault; /* static text: what is malformed */

	/* For http1_reply.c. */
	size_t scanned; /* bytes of this head in which no end was found */
	unsigned interim;
	struct http1_chunks chunks;
};

enum http1_verdict {
	HTTP1_MORE,
	HTTP1_WHOLE,
	HTTP1_MALFORMED, /* see reply->fault */
	HTTP1_TOO_LARGE, /* may come before the body does */
};

struct http1_piece {
	size_t used; /* bytes done with; those after them are to be given again, before what comes
	                next. After HTTP1_WHOLE they are none of this reply's */
	char *body;  /* into the bytes given */
	size_t body_bytes;
};

/**
 * Read @length bytes, which are changed. @headers has room for HTTP1_HEADERS_MAX, only used
 * meanwhile. A head that is not there as a whole stays: give it room for HTTP1_HEAD_MAX_BYTES.
 *
 * @piece is valid after HTTP1_MORE and HTTP1_WHOLE. Any thread.
 */
enum http1_verdict http1_reply_read(struct http1_reply *reply, char *bytes, size_t length,
                                    struct phr_header *headers, struct http1_piece *piece);

/** The connection has ended: whether the reply is whole by that. Any thread. */
bool http1_reply_ends(struct http1_reply *reply);

#endif
