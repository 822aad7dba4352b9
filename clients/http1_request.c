#include "clients/http1_request.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What stands between the parts of a call; FIXED_BYTES is more than all of it. */
#define AFTER_TARGET " HTTP/1.1\r\nHost: "
#define AFTER_HOST "\r\nUser-Agent: fanoutd/" FANOUTD_VERSION "\r\nAccept: */*\r\n"
#define BEFORE_LENGTH "Content-Length: "
enum {
	FIXED_BYTES = sizeof(AFTER_TARGET) + sizeof(AFTER_HOST) + sizeof(BEFORE_LENGTH) +
	              sizeof("[]:65535 /\r\n\r\n") + 20
};

static char *put(char *at, const char *text, size_t length)
{
	memcpy(at, text, length);
	return at + length;
}

#define PUT_LITERAL(at, literal) put(at, literal, sizeof(literal) - 1)

static char *put_number(char *at, uint64_t number)
{
	char digits[20], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + number % 10);
	while (number /= 10);
	return put(at, first, (size_t)(digits + sizeof(digits) - first));
}

/* What follows the host and port of @url: the path and query, "" or "?…" included. NULL: a user
 * stands before them. */
static const char *find_target(const char *url, const struct url_host *host)
{
	const char *authority = url + strlen("http://");

	if (host->name != authority + (*authority == '['))
		return NULL;
	return host->name + host->name_len + strcspn(host->name + host->name_len, "/?#");
}

/* Up to a fragment, which is not sent. False: a space or control character, which would end the
 * line, or start another. */
static bool measure_target(const char *target, size_t *length)
{
	const char *end = target;

	for (; *end && *end != '#'; end++)
		if ((unsigned char)*end <= ' ' || *end == 0x7f)
			return false;
	*length = (size_t)(end - target);
	return true;
}

/* As RFC 9110, 5.6.2 has it. */
static bool is_token(const char *text)
{
	static const char allowed[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *text && text[strspn(text, allowed)] == '\0';
}

/* The name as in the URL, but for the zone of a link-local address, which is of this machine
 * alone; the port unless it is HTTP's own. */
static char *put_host(char *at, const struct url_host *host)
{
	bool is_v6 = host->name[-1] == '[';
	const char *zone = is_v6 ? memchr(host->name, '%', host->name_len) : NULL;

	if (is_v6)
		*at++ = '[';
	at = put(at, host->name, zone ? (size_t)(zone - host->name) : host->name_len);
	if (is_v6)
		*at++ = ']';
	if (host->port == 80)
		return at;
	*at++ = ':';
	return put_number(at, host->port);
}

static char *put_head(char *at, const char *method, const char *target, size_t target_bytes,
                      const struct url_host *host)
{
	at = put(at, method, strlen(method));
	*at++ = ' ';
	if (target_bytes == 0 || *target != '/')
		*at++ = '/';
	at = put(at, target, target_bytes);
	at = PUT_LITERAL(at, AFTER_TARGET);
	at = put_host(at, host);
	return PUT_LITERAL(at, AFTER_HOST);
}

static bool is_one_of(const char *method, const char *const *methods)
{
	while (*methods && strcmp(method, *methods) != 0)
		methods++;
	return *methods;
}

static void classify(struct http1_request *request, const char *method)
{
	static const char *const idempotent[] = {"PUT", "DELETE", "OPTIONS", "TRACE", NULL};

	request->is_head = strcmp(method, "HEAD") == 0;
	request->is_idempotent =
		strcmp(method, "GET") == 0 || request->is_head || is_one_of(method, idempotent);
}

/* A method that has a body says so even if there is none: RFC 9110, 8.6. */
static bool says_length(const struct http1_request *request, const char *method)
{
	static const char *const with_body[] = {"POST", "PUT", "PATCH", NULL};

	return request->body_bytes > 0 || is_one_of(method, with_body);
}

int http1_request_init(struct http1_request *request, const struct http_call *call,
                       const struct url_host *host)
{
	static const char get[] = "GET";
	const char *method = call->method ? call->method : get, *target;
	size_t target_bytes, most;
	char *head = request->small, *at;

	request->head = request->small;
	target = find_target(call->url, host);
	if (!target || !measure_target(target, &target_bytes) ||
	    (method != get && !is_token(method)))
		return -EINVAL;
	most = strlen(method) + target_bytes + host->name_len + FIXED_BYTES;
	if (most > sizeof(request->small)) {
		head = malloc(most);
		if (!head)
			return -ENOMEM;
	}
	request->head = head;
	request->body = call->body;
	request->body_bytes = call->body_len;
	classify(request, method);

	at = put_head(head, method, target, target_bytes, host);
	if (says_length(request, method)) {
		at = PUT_LITERAL(at, BEFORE_LENGTH);
		at = put_number(at, call->body_len);
		at = PUT_LITERAL(at, "\r\n");
	}
	at = PUT_LITERAL(at, "\r\n");
	request->head_bytes = (size_t)(at - head);
	return 0;
}

void http1_request_finish(struct http1_request *request)
{
	if (request->head != request->small)
		free((char *)request->head);
}
