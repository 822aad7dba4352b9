#include "clients/http1_fields.h"

#include <string.h>
#include <strings.h>

#include "clients/http_reply_headers.h"

/* picohttpparser leaves the white space after a value. */
static size_t value_bytes(const struct phr_header *field)
{
	size_t length = field->value_len;

	while (length > 0 && (field->value[length - 1] == ' ' || field->value[length - 1] == '\t'))
		length--;
	return length;
}

size_t http1_fields_bytes(const struct phr_header *fields, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += fields[i].name_len + 1 + value_bytes(&fields[i]) + 1;
	return bytes;
}

int http1_fields_keep(const struct phr_header *fields, size_t count, struct http_call *call)
{
	struct http_reply_headers headers;
	int error = http_reply_headers_init(&headers, count, http1_fields_bytes(fields, count));

	if (error < 0)
		return error;
	for (size_t i = 0; i < count; i++)
		http_reply_headers_add(&headers, fields[i].name, fields[i].name_len,
		                       fields[i].value, value_bytes(&fields[i]));
	http_reply_headers_move(&headers, call);
	return 0;
}

void http1_fields_note_retry_after(const struct phr_header *fields, size_t count,
                                   struct http_call *call)
{
	static const char name[] = "Retry-After";

	for (size_t i = 0; i < count; i++)
		if (fields[i].name_len == strlen(name) &&
		    strncasecmp(fields[i].name, name, strlen(name)) == 0)
			http_note_retry_after(call, fields[i].value, value_bytes(&fields[i]));
}
