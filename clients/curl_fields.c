#include "clients/curl_fields.h"

#include <stdlib.h>
#include <string.h>

#include "clients/http_reply_headers.h"

size_t curl_head_receive(char *line, size_t size, size_t count, void *arg)
{
	struct curl_head *head = arg;

	(void)line;
	head->bytes += size * count;
	head->lines++;
	/* A status line and an empty one beside the fields. */
	head->is_too_long = head->bytes > HTTP_HEAD_MAX_BYTES || head->lines > HTTP_HEADERS_MAX + 2;
	return head->is_too_long ? CURL_WRITEFUNC_ERROR : size * count;
}

/* A field without a value is "Name;": libcurl would leave "Name:" out. */
static const char *separator_of(const struct http_header *header)
{
	return *header->value ? ": " : ";";
}

static size_t line_bytes(const struct http_header *header)
{
	return strlen(header->name) + strlen(separator_of(header)) + strlen(header->value) + 1;
}

static char *put_line(char *at, const struct http_header *header)
{
	at = stpcpy(at, header->name);
	at = stpcpy(at, separator_of(header));
	return stpcpy(at, header->value) + 1;
}

struct curl_slist *curl_fields_of_call(const struct http_call *call, struct curl_slist *tail)
{
	size_t count = call->header_count, bytes = count * sizeof(struct curl_slist);
	struct curl_slist *list;
	char *at;

	for (size_t i = 0; i < count; i++)
		bytes += line_bytes(&call->headers[i]);
	list = malloc(bytes);
	if (!list)
		return NULL;
	at = (char *)(list + count);
	for (size_t i = 0; i < count; i++) {
		list[i] = (struct curl_slist){at, i + 1 < count ? &list[i + 1] : tail};
		at = put_line(at, &call->headers[i]);
	}
	return list;
}

/* Of the last reply: not of an interim one, and no trailers, which come too late for us. */
static struct curl_header *next_field(CURL *easy, struct curl_header *field)
{
	return curl_easy_nextheader(easy, CURLH_HEADER, -1, field);
}

/* 7.88 leaves the CR in an empty one. */
static size_t value_bytes(const struct curl_header *field)
{
	return strcspn(field->value, "\r");
}

static size_t count_fields(CURL *easy, size_t *bytes)
{
	struct curl_header *field = NULL;
	size_t count = 0;

	*bytes = 0;
	while ((field = next_field(easy, field))) {
		count++;
		*bytes += strlen(field->name) + 1 + value_bytes(field) + 1;
	}
	return count;
}

size_t curl_fields_bytes(CURL *easy)
{
	size_t bytes;

	(void)count_fields(easy, &bytes);
	return bytes;
}

int curl_fields_keep(CURL *easy, struct http_call *call)
{
	struct http_reply_headers headers;
	struct curl_header *field = NULL;
	size_t bytes, count = count_fields(easy, &bytes);
	int error = http_reply_headers_init(&headers, count, bytes);

	if (error < 0)
		return error;
	while ((field = next_field(easy, field)))
		http_reply_headers_add(&headers, field->name, strlen(field->name), field->value,
		                       value_bytes(field));
	http_reply_headers_move(&headers, call);
	return 0;
}

void curl_fields_note_retry_after(CURL *easy, struct http_call *call)
{
	struct curl_header *field;

	if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &field) == CURLHE_OK)
		http_note_retry_after(call, field->value, value_bytes(field));
}
