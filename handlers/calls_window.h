#ifndef HANDLERS_CALLS_WINDOW_H
#define HANDLERS_CALLS_WINDOW_H

#include <stddef.h>

/*
 * How many calls of a streamed answer may be out, that is, started and not yet written
 * to the client: as many as have replies that fill @bytes, if they are as long as those
 * before them were. So a client that reads slowly slows its calls, and what is held for
 * it is bounded, while short replies are fetched all at once.
 *
 * Before anything is known a reply is taken for 64 KiB, and that guess counts for as much
 * as sixteen replies.
 */
struct calls_window {
	size_t bytes; /* 0: any number may be out */
	size_t seen;  /* replies, the guess included */
	size_t seen_bytes;
};

void calls_window_init(struct calls_window *window, size_t bytes);

/** A reply of so many bytes has come; 0: none has. */
void calls_window_add(struct calls_window *window, size_t reply_bytes);

/** Always at least 1. */
size_t calls_window_limit(const struct calls_window *window);

#endif
