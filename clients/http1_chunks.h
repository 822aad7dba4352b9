#ifndef CLIENTS_HTTP1_CHUNKS_H
#define CLIENTS_HTTP1_CHUNKS_H

#include <stddef.h>

/*
 * The chunked coding of a body, RFC 9112, 7.1: takes the framing out, in place,
 * however the bytes are cut into pieces. Strict, since what one reader takes for
 * the end of a body and another does not is how replies get mixed up: sizes are
 * 1 to 16 hexadecimal digits, lines end with CR LF. Extensions and trailers are
 * passed over; of both together at most HTTP1_CHUNKS_EXTRA_BYTES.
 */
enum { HTTP1_CHUNKS_EXTRA_BYTES = 16 * 1024 };

enum http1_chunks_state {
	HTTP1_CHUNKS_SIZE, /* zero: before the first */
	HTTP1_CHUNKS_PADDING,
	HTTP1_CHUNKS_EXTENSION,
	HTTP1_CHUNKS_SIZE_LF,
	HTTP1_CHUNKS_DATA,
	HTTP1_CHUNKS_DATA_CR,
	HTTP1_CHUNKS_DATA_LF,
	HTTP1_CHUNKS_LINE, /* at the beginning of one after the last chunk */
	HTTP1_CHUNKS_TRAILER,
	HTTP1_CHUNKS_TRAILER_LF,
	HTTP1_CHUNKS_END_LF,
	HTTP1_CHUNKS_OVER,
};

/** Zero it before a body. */
struct http1_chunks {
	enum http1_chunks_state state;
	unsigned digits; /* of the size being read */
	size_t left;     /* data to come in this chunk, as far as its size is known */
	size_t extra;    /* bytes of extensions and trailers so far */
};

enum http1_chunks_result {
	HTTP1_CHUNKS_MORE,
	HTTP1_CHUNKS_WHOLE,
	HTTP1_CHUNKS_MALFORMED,
};

/**
 * Read @length bytes. Their data is at @bytes afterwards, *@data_bytes of it; *@used is @length,
 * or, with HTTP1_CHUNKS_WHOLE, where the body ends. Any thread.
 */
enum http1_chunks_result http1_chunks_read(struct http1_chunks *chunks, char *bytes, size_t length,
                                           size_t *data_bytes, size_t *used);

#endif
