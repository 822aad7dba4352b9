#ifndef TESTS_FAKES_RECORDED_STREAM_H
#define TESTS_FAKES_RECORDED_STREAM_H

#include <stddef.h>

#include "handlers/handler.h"

/* An answer that can be streamed, and keeps what is written. Nothing parks. */
struct recorded_stream {
	struct response response; /* to be given to serve() */
	unsigned good_writes;     /* how many may still succeed; then each gets @error */
	int error;                /* negative; 0: all succeed */

	unsigned writes; /* that succeeded */
	char *text;      /* owned; what they wrote, and a NUL; NULL before the first */
	size_t length;
};

/** Zeroed but for what makes it a stream. */
void recorded_stream_init(struct recorded_stream *stream);

/** Frees the answer, too. */
void recorded_stream_finish(struct recorded_stream *stream);

#endif
