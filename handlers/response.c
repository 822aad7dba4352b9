#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/handler.h"

static const struct phrase {
	int status;
	const char *text;
} phrases[] = {
	{200, "OK"},
	{400, "Bad Request"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{411, "Length Required"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{417, "Expectation Failed"},
	{422, "Unprocessable Content"},
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

void response_set_header(struct response *response, const char *name, const char *value)
{
	assert(!response->headers[0]);
	response->headers[0] = name;
	response->headers[1] = value;
}

void response_finish(struct response *response)
{
	free(response->body);
	*response = (struct response){0};
}
