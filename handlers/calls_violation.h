#ifndef HANDLERS_CALLS_VIOLATION_H
#define HANDLERS_CALLS_VIOLATION_H

#include <stddef.h>

#include "handlers/handler.h"
#include "handlers/json_pointer.h"

/** The first thing that is wrong with a list of calls, and where. Zero it first. */
struct calls_violation {
	struct json_pointer pointer;
	char detail[160]; /* ASCII; nothing of the request is in it */
};

/** Where in the list: /requests/@index/@key, or without @key if that is NULL. For more steps add to
 * violation->pointer. Any thread. */
void calls_violation_in_call(struct calls_violation *violation, size_t index, const char *key);

/** What is wrong there. Returns -EINVAL, for the caller to return. Any thread. */
int calls_violate(struct calls_violation *violation, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Answer 400 application/problem+json with the `detail` and the `pointer`. */
void calls_violation_respond(const struct calls_violation *violation, struct response *response);

#endif
