#include "handlers/calls_violation.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clients/http_status.h"

void calls_violation_in_call(struct calls_violation *violation, size_t index, const char *key)
{
	violation->pointer = (struct json_pointer){0};
	json_pointer_add_member(&violation->pointer, "requests", strlen("requests"));
	json_pointer_add_element(&violation->pointer, index);
	if (key)
		json_pointer_add_member(&violation->pointer, key, strlen(key));
}

int calls_violate(struct calls_violation *violation, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(violation->detail, sizeof(violation->detail), format, arguments);
	va_end(arguments);
	assert(length > 0 && (size_t)length < sizeof(violation->detail));
	return -EINVAL;
}

void calls_violation_respond(const struct calls_violation *violation, struct response *response)
{
	/* RFC 9457 leaves members of our own to us; `pointer` is what its examples call it. */
	response_json(response, 400,
	              json_pack("{s:s, s:i, s:s, s:s}", "title", http_status_phrase(400), "status",
	                        400, "detail", violation->detail, "pointer",
	                        violation->pointer.text));
	if (response->status == 400)
		response->content_type = "application/problem+json";
}
