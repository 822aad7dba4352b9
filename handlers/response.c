#include <assert.h>
#include <float.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/http_header.h"
#include "clients/http_status.h"
#include "handlers/handler.h"

/* Of the digits of a double those that are sure: 503.3, and not 503.30000000000001. */
enum { REAL_DIGITS = DBL_DIG };

static void answer(struct response *response, int status, const char *content_type, json_t *body)
{
	char *text =
		body ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)) : NULL;

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
	const char *title = http_status_phrase((unsigned)status);

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

void response_add_header(struct response *response, const char *name, const char *value)
{
	size_t name_bytes = strlen(name) + 1, value_bytes = strlen(value) + 1;
	size_t length = response->headers_len + name_bytes + value_bytes;
	char *headers;

	assert(!response->is_streamed && http_header_is_valid(&(struct http_header){name, value}));
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
	if (response->memory)
		memory_budget_give(response->memory, response->memory_taken);
	*response = (struct response){.stream_ops = stream_ops};
}
