#ifndef CLIENTS_PHR_H
#define CLIENTS_PHR_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The parts of picohttpparser (https://github.com/h2o/picohttpparser, by Kazuho
 * Oku, Tokuhiro Matsuno, Daisuke Murase and Shigeo Mitsunari) that we use.
 * libh2o-evloop 2.2.5 exports them, but has no header for them: these are its
 * declarations.
 *
 * Not phr_parse_response(): it refuses a status line without a reason, which
 * servers send. phr_decode_chunked() takes "0x10" for the last chunk, so bodies are
 * read by http1_chunks.h; it is here to be compared with.
 */

/** A field. The name is NULL in a line that continues the one before it. */
struct phr_header {
	const char *name;
	size_t name_len;
	const char *value; /* without the white space before it, but with what follows it */
	size_t value_len;
};

/**
 * Read the fields of a head, up to its empty line. *@num_headers is the room in @headers, then how
 * many there are. @last_len: bytes that an earlier call has seen; 0 is always right.
 *
 * Returns the bytes read; -1 malformed, or too many; -2 the end is missing. Any thread.
 */
int phr_parse_headers(const char *buf, size_t len, struct phr_header *headers, size_t *num_headers,
                      size_t last_len);

/** Zeroed at the start of a body. */
struct phr_chunked_decoder {
	size_t bytes_left_in_chunk;
	char consume_trailer; /* the trailers are a part of the body */
	char _hex_count;
	char _state;
};

/**
 * Take the framing out of @buf, of *@bufsz bytes, which becomes those of the data.
 *
 * Returns the bytes after the end of the body; -1 malformed; -2 the end is missing. Any thread.
 */
ssize_t phr_decode_chunked(struct phr_chunked_decoder *decoder, char *buf, size_t *bufsz);

#endif
