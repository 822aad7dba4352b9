#include "tests/fakes/echo_client.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http_fail.h"
#include "clients/url_host.h"
#include "executors/task.h"

struct echo_client {
	struct http_client client; /* first */
	pthread_mutex_t lock;
	char *begun; /* lock; owned */
};

/* The value of @name in the query of @url, up to the next '&'; NULL: none. */
static const char *find_parameter(const char *url, const char *name, size_t *length)
{
	const char *at = strchr(url, '?');
	size_t name_length = strlen(name);

	for (; at; at = strchr(at + 1, '&')) {
		if (strncmp(at + 1, name, name_length) != 0 || at[1 + name_length] != '=')
			continue;
		at += name_length + 2;
		*length = strcspn(at, "&");
		return at;
	}
	return NULL;
}

static long number_in(const char *url, const char *name, long otherwise)
{
	size_t length;
	const char *value = find_parameter(url, name, &length);

	return value ? strtol(value, NULL, 10) : otherwise;
}

static bool says(const char *url, const char *name, const char *word)
{
	size_t length;
	const char *value = find_parameter(url, name, &length);

	return value && length == strlen(word) && strncmp(value, word, length) == 0;
}

/* The path of @url, without the query. */
static const char *find_path(const char *url, size_t *length)
{
	struct url_host host;
	const char *path;

	assert(url_host_find(url, &host) == 0);
	path = host.name + host.name_len + strcspn(host.name + host.name_len, "/?");
	*length = strcspn(path, "?");
	return path;
}

static void note_begin(struct echo_client *self, const char *url)
{
	size_t length;
	const char *path = find_path(url, &length);
	char *longer;

	pthread_mutex_lock(&self->lock);
	assert(asprintf(&longer, "%s%.*s ", self->begun, (int)length, path) > 0);
	free(self->begun);
	self->begun = longer;
	pthread_mutex_unlock(&self->lock);
}

static int wait_as_told(const char *url, struct deadline deadline)
{
	long ms = number_in(url, "ms", 0);
	struct deadline moment = says(url, "ms", "forever") ? DEADLINE_NEVER : deadline_in_ms(ms);

	if (ms > 0 || moment.ns == DEADLINE_NEVER.ns)
		if (task_sleep_until(deadline_earlier(moment, deadline)))
			return -ECANCELED;
	return deadline.ns < moment.ns ? -ETIMEDOUT : 0;
}

static enum http_failure failure_in(const char *url)
{
	for (unsigned failure = HTTP_OK + 1; failure < HTTP_FAILURES; failure++)
		if (says(url, "error", http_failure_name((enum http_failure)failure)))
			return (enum http_failure)failure;
	return HTTP_OK;
}

static char *print_headers(const struct http_call *call)
{
	char *all = strdup("");

	for (size_t i = 0; i < call->header_count; i++) {
		char *longer;

		assert(all && asprintf(&longer, "%s%s\"%s\": \"%s\"", all, i > 0 ? ", " : "",
		                       call->headers[i].name, call->headers[i].value) > 0);
		free(all);
		all = longer;
	}
	return all;
}

/* On several lines, as many services do it. */
static void echo(struct http_call *call)
{
	const char *body = call->body ? call->body : "";
	char *headers = print_headers(call);
	int length = asprintf(&call->reply,
	                      "{\"method\": \"%s\",\n \"url\": \"%s\",\r\n"
	                      " \"headers\": {%s}, \"bytes\": %zu,\n \"body\": \"%.*s\"}\n",
	                      call->method, call->url, headers, call->body_len,
	                      body[0] == '{' ? 0 : (int)call->body_len, body);

	assert(length > 0);
	call->reply_len = (size_t)length;
	free(headers);
}

static const char *fill_body(struct http_call *call)
{
	long bytes = number_in(call->url, "bytes", -1);
	size_t length;
	const char *path = find_path(call->url, &length);

	if (bytes >= 0) {
		call->reply = malloc((size_t)bytes + 1);
		assert(call->reply);
		memset(call->reply, 'x', (size_t)bytes);
		call->reply[bytes] = '\0';
		call->reply_len = (size_t)bytes;
	} else if (says(call->url, "as", "bytes")) {
		call->reply = strdup("\xff\xfe");
		call->reply_len = 2;
	} else if (says(call->url, "as", "text")) {
		call->reply = strndup(path, length);
		call->reply_len = length;
	} else {
		echo(call);
		return "application/json; charset=utf-8";
	}
	return "text/plain";
}

static void fill_headers(struct http_call *call, const char *content_type)
{
	call->reply_headers = malloc(3 * sizeof(*call->reply_headers));
	assert(call->reply_headers);
	call->reply_headers[0] = (struct http_header){"Content-Type", content_type};
	call->reply_headers[1] = (struct http_header){"Set-Cookie", "secret"};
	call->reply_headers[2] = (struct http_header){"ETag", "\"1\""};
	call->reply_header_count = 3;
}

static enum http_failure echo_call(struct http_client *client, struct http_call *call,
                                   struct deadline deadline)
{
	struct echo_client *self = (struct echo_client *)client;
	enum http_failure failure;
	int error;

	note_begin(self, call->url);
	call->attempts = 1;
	error = wait_as_told(call->url, deadline);
	if (error)
		return http_fail_wait(call, error);
	failure = failure_in(call->url);
	if (failure != HTTP_OK)
		return http_fail(call, failure, "as told");
	call->status = (int)number_in(call->url, "status", 200);
	fill_headers(call, fill_body(call));
	if (call->reply_len > call->max_reply_bytes)
		return http_fail(call, HTTP_TOO_LARGE, "the reply is too large");
	return HTTP_OK;
}

static void echo_destroy(struct http_client *client)
{
	struct echo_client *self = (struct echo_client *)client;

	free(self->begun);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

int echo_client_create(struct http_client **out)
{
	static const struct http_client_ops ops = {
		.name = "echo",
		.call = echo_call,
		.destroy = echo_destroy,
	};
	struct echo_client *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->client.ops = &ops;
	self->begun = strdup("");
	if (!self->begun) {
		free(self);
		return -ENOMEM;
	}
	pthread_mutex_init(&self->lock, NULL);
	*out = &self->client;
	return 0;
}

char *echo_client_begun(struct http_client *client)
{
	struct echo_client *self = (struct echo_client *)client;
	char *copy;

	pthread_mutex_lock(&self->lock);
	copy = strdup(self->begun);
	pthread_mutex_unlock(&self->lock);
	return copy;
}
