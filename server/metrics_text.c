#include "server/metrics_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct metrics_text *text, size_t bytes)
{
	size_t wanted = text->length + bytes;

	if (text->error != 0)
		return text->error;
	if (wanted <= text->capacity)
		return 0;
	size_t capacity = wanted < 4096 ? 4096 : 2 * wanted;
	char *data = realloc(text->data, capacity);

	if (data == NULL)
		return text->error = -ENOMEM;
	text->data = data;
	text->capacity = capacity;
	return 0;
}

static void append_bytes(struct metrics_text *text, const char *bytes, size_t length)
{
	if (reserve(text, length) != 0)
		return;
	memcpy(text->data + text->length, bytes, length);
	text->length += length;
}

static void append(struct metrics_text *text, const char *string)
{
	append_bytes(text, string, strlen(string));
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
			append_bytes(text, value, 1);
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
	if (text->error != 0) {
		free(text->data);
		response_problem(response, 500, NULL, "out of memory");
	} else {
		*response = (struct response){
			.status = 200,
			.content_type = "text/plain; version=0.0.4; charset=utf-8",
			.body = text->data,
			.body_len = text->length,
		};
	}
	*text = (struct metrics_text){0};
}
