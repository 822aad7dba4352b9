#ifndef SERVER_SLOW_ENDPOINT_ANSWER_H
#define SERVER_SLOW_ENDPOINT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/*
 * An answer as a stream of bytes that is never held as a whole: any part of it
 * can be made again from its position. So a write that stops halfway needs
 * nothing kept but that position, and a body of a gigabyte no memory.
 */
enum {
	SLOW_PATTERN_BYTES = 65536, /* also the size of a chunk of a chunked body */
	SLOW_ANSWER_HEAD_BYTES = 320,
	SLOW_PIECES = 5,
};

/** Fill the bytes that bodies are made of: "okokok…". */
void slow_pattern_fill(char pattern[SLOW_PATTERN_BYTES]);

struct slow_answer {
	uint64_t body_bytes;
	char *text;               /* the body, owned by the connection; NULL: the pattern */
	const char *content_type; /* static text */
	const char *allow;        /* of a 405; static text, or NULL */
	unsigned status;
	bool keep_alive;
	bool http_1_0;        /* never chunked, and keep-alive must be said */
	bool chunked;         /* pattern bodies only */
	bool omits_body;      /* to HEAD: the head alone */
	bool is_garbage;      /* not HTTP, whatever else is set */
	unsigned retry_after; /* seconds; 0: does not say */
};

/** Room for some consecutive bytes of an answer. */
struct slow_pieces {
	struct iovec pieces[SLOW_PIECES];
	unsigned count;
	uint64_t skip; /* while filling: bytes still to be left out */
	char chunk_head[16];
};

/** Write the head. Returns its length. */
size_t slow_answer_head(const struct slow_answer *answer, char head[SLOW_ANSWER_HEAD_BYTES]);

/** Bytes after the head, framing of chunks included. */
uint64_t slow_answer_tail_bytes(const struct slow_answer *answer);

/**
 * List bytes of the answer from position @at on, at least one unless that is its end.
 *
 * @head as slow_answer_head() left it. @out borrows @head, @pattern and the answer's text.
 */
void slow_answer_pieces(const struct slow_answer *answer, const char *head, size_t head_bytes,
                        const char *pattern, uint64_t at, struct slow_pieces *out);

#endif
