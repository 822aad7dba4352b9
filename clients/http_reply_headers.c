#include "clients/http_reply_headers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients/retry_after.h"

int http_reply_headers_init(struct http_reply_headers *headers, size_t count, size_t text_bytes)
{
	size_t array_bytes = count * sizeof(*headers->headers);
	struct http_header *block = malloc(array_bytes + text_bytes + 1);

	if (!block)
		return -ENOMEM;
	*headers = (struct http_reply_headers){
		.headers = block,
		.room = count,
		.text = (char *)block + array_bytes,
		.text_room = text_bytes,
	};
	return 0;
}

static const char *put(struct http_reply_headers *headers, const char *text, size_t length)
{
	char *at = headers->text;

	assert(length < headers->text_room);
	memcpy(at, text, length);
	at[length] = '\0';
	headers->text += length + 1;
	headers->text_room -= length + 1;
	return at;
}

void http_reply_headers_add(struct http_reply_headers *headers, const char *name, size_t name_len,
                            const char *value, size_t value_len)
{
	struct http_header *header = headers->headers + headers->count;

	assert(headers->count < headers->room);
	headers->count++;
	header->name = put(headers, name, name_len);
	header->value = put(headers, value, value_len);
}

void http_reply_headers_move(struct http_reply_headers *headers, struct http_call *call)
{
	assert(!call->reply_headers);
	call->reply_headers = headers->headers;
	call->reply_header_count = headers->count;
	call->reply_header_bytes = (size_t)(headers->text - (char *)headers->headers);
}

bool http_asks_for_patience(int status)
{
	return status == 429 || status == 503;
}

void http_note_retry_after(struct http_call *call, const char *value, size_t value_len)
{
	if (!call->has_retry_after)
		call->has_retry_after =
			retry_after_read(value, value_len, time(NULL), &call->retry_after_s);
}
