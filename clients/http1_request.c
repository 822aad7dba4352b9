#include "clients/http1_request.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What stands between the parts of a call; FIXED_BYTES is more than all of it. */
#define AFTER_TARGET " HTTP/1.1\r\nHost: "
#define USER_AGENT "User-Agent: fanoutd/" FANOUTD_VERSION "\r\n"
#define ACCEPT "Accept: */*\r\n"
#define BEFORE_LENGTH "Content-Length: "
enum {
	FIXED_BYTES = sizeof(AFTER_TARGET) + sizeof(USER_AGENT ACCEPT) + sizeof(BEFORE_LENGTH) +
	              sizeof("[]:65535 /\r\n\r\n\r\n") + 20
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

/* What follows the host and port: the path and query, "" or "?…" included. */
static const char *find_target(const struct url_host *host)
{
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

/* Of the headers as lines. False: one of them would end its line, or is none. */
static bool measure_headers(const struct http_call *call, size_t *bytes)
{
	*bytes = 0;
	for (size_t i = 0; i < call->header_count; i++) {
		const struct http_header *header = &call->headers[i];

		if (!http_header_is_valid(header))
			return false;
		*bytes += strlen(header->name) + strlen(header->value) + strlen(": \r\n");
	}
	return true;
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

static char *put_headers(char *at, const struct http_call *call)
{
	for (size_t i = 0; i < call->header_count; i++) {
		const struct http_header *header = &call->headers[i];

		at = put(at, header->name, strlen(header->name));
		at = PUT_LITERAL(at, ": ");
		at = put(at, header->value, strlen(header->value));
		at = PUT_LITERAL(at, "\r\n");
	}
	return at;
}

static bool brings(const struct http_call *call, const char *name)
{
	return http_header_find(call->headers, call->header_count, name);
}

/* The call's own fields, and ours unless it brings them. */
static char *put_fields(char *at, const struct http_call *call)
{
	if (call->header_count == 0)
		return PUT_LITERAL(at, USER_AGENT ACCEPT);
	at = put_headers(at, call);
	if (!brings(call, "User-Agent"))
		at = PUT_LITERAL(at, USER_AGENT);
	return brings(call, "Accept") ? at : PUT_LITERAL(at, ACCEPT);
}

static char *put_request_line(char *at, const char *method, const char *target, size_t target_bytes)
{
	at = put(at, method, strlen(method));
	*at++ = ' ';
	if (target_bytes == 0 || *target != '/')
		*at++ = '/';
	at = put(at, target, target_bytes);
	return PUT_LITERAL(at, AFTER_TARGET);
}

static bool is_one_of(const char *method, const char *const *methods)
{
	while (*methods && strcmp(method, *methods) != 0)
		methods++;
	return *methods;
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
	const char *method = call->method ? call->method : get, *target = find_target(host);
	size_t target_bytes, header_bytes, most;
	char *head = request->small, *at;

	request->head = request->small;
	if (host->has_user || !measure_target(target, &target_bytes) ||
	    !measure_headers(call, &header_bytes) ||
	    (method != get && !http_header_name_is_valid(method, strlen(method))))
		return -EINVAL;
	most = strlen(method) + target_bytes + host->name_len + header_bytes + FIXED_BYTES;
	if (most > sizeof(request->small)) {
		head = malloc(most);
		if (!head)
			return -ENOMEM;
	}
	request->head = head;
	request->body = call->body;
	request->body_bytes = call->body_len;
	request->is_head = strcmp(method, "HEAD") == 0;
	request->is_repeatable = http_call_is_repeatable(call);

	at = put_request_line(head, method, target, target_bytes);
	at = put_host(at, host);
	at = PUT_LITERAL(at, "\r\n");
	at = put_fields(at, call);
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
