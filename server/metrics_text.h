#ifndef SERVER_METRICS_TEXT_H
#define SERVER_METRICS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "handlers/handler.h"

/*
 * Prometheus text exposition format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 *
 *	metrics_family(&text, "fanoutd_tasks", "gauge", "Tasks by state.");
 *	metrics_sample(&text, "fanoutd_tasks", 3, (const char *[]){"state", "parked", NULL});
 *
 * Want of memory is remembered and comes out at the end.
 */
struct metrics_text {
	char *data; /* owned */
	size_t length;
	size_t capacity;
	int error; /* 0 or -ENOMEM */
};

/** Zeroed is an empty text. The samples of a family follow its head without a gap. */
void metrics_family(struct metrics_text *text, const char *name, const char *type,
                    const char *help);

/**
 * One line. @labels is name, value, …, NULL, or NULL for none; values are escaped. An integer
 * up to 2^53 is printed exactly; infinity and NaN as the format wants them.
 */
void metrics_sample(struct metrics_text *text, const char *name, const char *const *labels,
                    double value);

/** Answer with the text, or with a 500 if memory ran out. The text is finished afterwards. */
void metrics_answer(struct metrics_text *text, struct response *response);

#endif
