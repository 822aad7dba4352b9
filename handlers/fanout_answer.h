#ifndef HANDLERS_FANOUT_ANSWER_H
#define HANDLERS_FANOUT_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "handlers/fanout_calls.h"
#include "handlers/fanout_summary.h"
#include "handlers/text_buffer.h"

/* The answer to /fanout as JSON. */

struct fanout_answer {
	const char *executor; /* these two are plain words: nothing in them is escaped */
	const char *client;
	int64_t elapsed_ns;
	const struct fanout_summary *summary;
	const struct fanout_calls *calls;
	bool detail; /* print the calls one by one, too */
};

/**
 * Print @answer as one JSON object. call_ms is null when there was no whole reply. Check
 * buffer->error afterwards. Task only if there are details: yields.
 */
void fanout_answer_print(const struct fanout_answer *answer, struct text_buffer *buffer);

#endif
