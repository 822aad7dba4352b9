#ifndef HANDLERS_JSON_SURVEY_H
#define HANDLERS_JSON_SURVEY_H

#include <stddef.h>

/*
 * JSON text looked at before it is parsed: the parser recurses, and a task's stack is
 * small; and it makes a tree that can take a hundred times as much as the text.
 *
 * What stands between brackets, strings, colons and commas is not looked at, so the
 * text may be anything. Any thread; allocates nothing.
 */
struct json_survey {
	size_t depth;      /* most objects and arrays within each other */
	size_t deepest_at; /* where the first of the deepest ones opens */
	size_t tree_bytes; /* no less than what jansson's tree of it takes */
};

struct json_survey json_survey(const char *text, size_t length);

/** Where the string ends whose opening quote is at @at: behind its closing one, or at @end. */
size_t json_string_end(const char *text, size_t at, size_t end);

#endif
