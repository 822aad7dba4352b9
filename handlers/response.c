#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "handlers/handler.h"

static const struct phrase {
	int status;
	const char *text;
} phrases[] = {
	{200, "OK"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{406, "Not Acceptable"},
	{408, "Request Timeout"},
	{411, "Length Required"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{417, "Expectation Failed"},
	{422, "Unprocessable Content"},
	{424, "Failed Dependency"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

const char *response_phrase(int status)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (phrases[i].status == status)
			return phrases[i].text;
	return "Unknown";
}

static void answer(struct response *response, int status, const char *content_type, json_t *body)
{
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	json_decref(body);
	/* What has been streamed cannot be taken back. */
	assert(!response->is_streamed);
	response_finish(response);
	if (!text) {
		response->status = 500;
		return;
	}
	response->status = status;
	response->content_type = content_type;
	response->body = text;
	response->body_len = strlen(text);
}

void response_json(struct response *response, int status, json_t *body)
{
	answer(response, status, "application/json", body);
}

static json_t *problem(int status, const char *parameter, const char *detail)
{
	const char *title = response_phrase(status);

	if (!parameter)
		return json_pack("{s:s, s:i, s:s}", "title", title, "status", status, "detail",
		                 detail);
	return json_pack("{s:s, s:i, s:s, s:s}", "title", title, "status", status, "detail", detail,
	                 "parameter", parameter);
}

void response_problem(struct response *response, int status, const char *parameter,
                      const char *detail_format, ...)
{
	va_list arguments;
	char *detail;
	int length;

	va_start(arguments, detail_format);
	length = vasprintf(&detail, detail_format, arguments);
	va_end(arguments);
	if (length < 0) {
		answer(response, status, NULL, NULL);
		return;
	}
	answer(response, status, "application/problem+json", problem(status, parameter, detail));
	free(detail);
}

void response_bad_query(struct response *response, const struct query_error *error)
{
	response_problem(response, 400, error->parameter[0] ? error->parameter : NULL, "%s",
	                 error->text);
}

/* RFC 9110 §5.6.2 and §5.5. */
static bool is_token(const char *name)
{
	static const char characters[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return name[0] != '\0' && name[strspn(name, characters)] == '\0';
}

static bool is_field_value(const char *value)
{
	for (const char *c = value; *c; c++)
		if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
			return false;
	return true;
}

void response_add_header(struct response *response, const char *name, const char *value)
{
	size_t name_bytes = strlen(name) + 1, value_bytes = strlen(value) + 1;
	size_t length = response->headers_len + name_bytes + value_bytes;
	char *headers;

	assert(!response->is_streamed && is_token(name) && is_field_value(value));
	headers = realloc(response->headers, length);
	if (!headers) {
		response_finish(response);
		response->status = 500;
		return;
	}
	memcpy(headers + response->headers_len, name, name_bytes);
	memcpy(headers + response->headers_len + name_bytes, value, value_bytes);
	response->headers = headers;
	response->headers_len = length;
}

bool response_next_header(const struct response *response, size_t *place, const char **name,
                          const char **value)
{
	if (*place == response->headers_len)
		return false;
	*name = response->headers + *place;
	*value = *name + strlen(*name) + 1;
	*place = (size_t)(*value + strlen(*value) + 1 - response->headers);
	return true;
}

const char *response_header(const struct response *response, const char *name)
{
	const char *this_name, *value;
	size_t place = 0;

	while (response_next_header(response, &place, &this_name, &value))
		if (strcasecmp(this_name, name) == 0)
			return value;
	return NULL;
}

void response_finish(struct response *response)
{
	const struct response_stream_ops *stream_ops = response->stream_ops;

	free(response->headers);
	free(response->body);
	*response = (struct response){.stream_ops = stream_ops};
}
