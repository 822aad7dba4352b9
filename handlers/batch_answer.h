#ifndef HANDLERS_BATCH_ANSWER_H
#define HANDLERS_BATCH_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "handlers/batch.h"
#include "handlers/batch_summary.h"
#include "handlers/text_buffer.h"

/* The answer to a request that was served by a batch, as JSON. */

struct batch_answer {
	const char *executor; /* these two are plain words: nothing in them is escaped */
	const char *client;   /* NULL: no calls were made; then no `client` and `statuses` */
	int64_t elapsed_ns;
	const struct batch_summary *summary;
	const struct batch *batch;
	bool detail; /* print the calls one by one, too */
};

/**
 * Print @answer as one JSON object. call_ms is null when there was no whole reply. Check
 * buffer->error afterwards. Task only if there are details: yields.
 */
void batch_answer_print(const struct batch_answer *answer, struct text_buffer *buffer);

#endif
