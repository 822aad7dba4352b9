#include "server/metrics_text.h"

#include <math.h>
#include <stdio.h>

/* All families together, with every route and status, take less than 100 KiB. */
enum { MAX_BYTES = 8 << 20 }; /* a thousand upstreams are 5 MiB */

void metrics_text_init(struct metrics_text *text)
{
	text_buffer_init(&text->buffer, MAX_BYTES);
}

static void append(struct metrics_text *text, const char *string)
{
	text_buffer_append(&text->buffer, string);
}

/* In a label value: backslash, double quote and line feed. */
static void append_label_value(struct metrics_text *text, const char *value)
{
	for (; *value != '\0'; value++) {
		if (*value == '\\')
			append(text, "\\\\");
		else if (*value == '"')
			append(text, "\\\"");
		else if (*value == '\n')
			append(text, "\\n");
		else
			text_buffer_append_bytes(&text->buffer, value, 1);
	}
}

static void append_value(struct metrics_text *text, double value)
{
	char digits[32];

	if (isinf(value))
		append(text, value > 0 ? "+Inf" : "-Inf");
	else if (isnan(value))
		append(text, "NaN");
	else if (snprintf(digits, sizeof(digits), "%.16g", value) > 0)
		append(text, digits);
}

void metrics_family(struct metrics_text *text, const char *name, const char *type, const char *help)
{
	append(text, "# HELP ");
	append(text, name);
	append(text, " ");
	append(text, help);
	append(text, "\n# TYPE ");
	append(text, name);
	append(text, " ");
	append(text, type);
	append(text, "\n");
}

void metrics_sample(struct metrics_text *text, const char *name, const char *const *labels,
                    double value)
{
	append(text, name);
	for (size_t i = 0; labels != NULL && labels[i] != NULL; i += 2) {
		append(text, i == 0 ? "{" : ",");
		append(text, labels[i]);
		append(text, "=\"");
		append_label_value(text, labels[i + 1]);
		append(text, "\"");
	}
	append(text, labels != NULL && labels[0] != NULL ? "} " : " ");
	append_value(text, value);
	append(text, "\n");
}

void metrics_answer(struct metrics_text *text, struct response *response)
{
	*response = (struct response){
		.status = 200,
		.content_type = "text/plain; version=0.0.4; charset=utf-8",
	};
	if (text_buffer_take(&text->buffer, &response->body, &response->body_len) != 0)
		response_problem(response, 500, NULL, "no room for the metrics");
	text_buffer_finish(&text->buffer);
}
