#ifndef SERVER_METRICS_TEXT_H
#define SERVER_METRICS_TEXT_H

#include "handlers/handler.h"
#include "handlers/text_buffer.h"

/*
 * Prometheus text exposition format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 *
 *	metrics_family(&text, "fanoutd_tasks", "gauge", "Tasks by state.");
 *	metrics_sample(&text, "fanoutd_tasks", (const char *[]){"state", "parked", NULL}, 3);
 *
 * Want of room is remembered and comes out at the end.
 */
struct metrics_text {
	struct text_buffer buffer;
};

/** An empty text; to be finished by metrics_answer(). */
void metrics_text_init(struct metrics_text *text);

/** The head of a family; its samples follow it without a gap. */
void metrics_family(struct metrics_text *text, const char *name, const char *type,
                    const char *help);

/**
 * One line. @labels is name, value, …, NULL, or NULL for none; values are escaped. An integer
 * up to 2^53 is printed exactly; infinity and NaN as the format wants them.
 */
void metrics_sample(struct metrics_text *text, const char *name, const char *const *labels,
                    double value);

/** Answer with the text, or with a 500 if there was no room for it. The text is finished
 * afterwards. */
void metrics_answer(struct metrics_text *text, struct response *response);

#endif
