#include "server/slow_endpoint_request.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "clients/span.h"
#include "executors/decimal.h"

/* What the header fields said so far. */
struct fields {
	bool has_content_length;
	bool has_transfer_encoding;
	bool says_close;
	bool says_keep_alive;
};

/* Empty lines before a request count for nothing (RFC 9112 2.2). */
static size_t leading_empty_lines(const char *data, size_t length)
{
	size_t bytes = 0;

	while (length - bytes >= 2 && data[bytes] == '\r' && data[bytes + 1] == '\n')
		bytes += 2;
	return bytes;
}

ssize_t slow_request_head_length(const char *data, size_t length, size_t *scanned)
{
	size_t first = leading_empty_lines(data, length);
	size_t line = *scanned > first ? *scanned : first;
	const char *newline;

	while (line < length && (newline = memchr(data + line, '\n', length - line))) {
		size_t end = (size_t)(newline - data);

		if (end == line || newline[-1] != '\r')
			return -EBADMSG;
		if (end >= SLOW_HEAD_MAX_BYTES)
			return -EMSGSIZE;
		if (end == line + 1)
			return (ssize_t)(end + 1);
		line = end + 1;
	}
	*scanned = line;
	return length >= SLOW_HEAD_MAX_BYTES ? -EMSGSIZE : 0;
}

static int refuse(struct slow_request *request, unsigned status, const char *text)
{
	int length = snprintf(request->refused_text, sizeof(request->refused_text), "%s\n", text);

	assert(length > 0 && (size_t)length < sizeof(request->refused_text));
	request->route = SLOW_ROUTE_REFUSED;
	request->refused_status = status;
	return -EINVAL;
}

/* Also leaves unknown where the next request starts. */
static int refuse_framing(struct slow_request *request, unsigned status, const char *text)
{
	request->unframed = true;
	request->keep_alive = false;
	return refuse(request, status, text);
}

static bool is_token(struct span span)
{
	for (size_t i = 0; i < span.length; i++) {
		unsigned char byte = (unsigned char)span.data[i];

		if (byte <= ' ' || byte >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", byte))
			return false;
	}
	return span.length > 0;
}

static bool is_visible(struct span span)
{
	for (size_t i = 0; i < span.length; i++)
		if (span.data[i] <= ' ' || span.data[i] >= 0x7f)
			return false;
	return span.length > 0;
}

static int read_version(struct slow_request *request, struct span version)
{
	if (span_is(version, "HTTP/1.1")) {
		request->keep_alive = true;
		return 0;
	}
	if (span_is(version, "HTTP/1.0")) {
		request->http_1_0 = true;
		return 0;
	}
	if (version.length > 5 && memcmp(version.data, "HTTP/", 5) == 0)
		return refuse_framing(request, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
	return refuse_framing(request, 400, "malformed request line");
}

static int read_request_line(struct slow_request *request, struct span line, struct span *method,
                             struct span *target)
{
	*method = span_next_part(&line, ' ');
	*target = span_next_part(&line, ' ');
	if (!is_token(*method) || !is_visible(*target))
		return refuse_framing(request, 400, "malformed request line");
	request->is_head = span_is(*method, "HEAD");
	return read_version(request, line);
}

static int read_content_length(struct slow_request *request, struct fields *fields,
                               struct span value)
{
	uint64_t bytes;

	if (fields->has_content_length)
		return refuse_framing(request, 400, "Content-Length: given twice");
	fields->has_content_length = true;
	if (!decimal_read(value.data, value.length, &bytes))
		return refuse_framing(request, 400, "Content-Length: not a number of bytes");
	if (bytes > SLOW_CONTENT_MAX_BYTES)
		return refuse_framing(request, 413, "the request's body is over 1 MiB");
	request->content_bytes = (unsigned)bytes;
	return 0;
}

static void read_connection(struct fields *fields, struct span value)
{
	while (value.length > 0) {
		struct span option = span_trimmed(span_next_part(&value, ','));

		if (span_is_any_case(option, "close"))
			fields->says_close = true;
		else if (span_is_any_case(option, "keep-alive"))
			fields->says_keep_alive = true;
	}
}

static int read_field(struct slow_request *request, struct fields *fields, struct span line)
{
	struct span value = line;
	struct span name = span_next_part(&value, ':');

	/* A folded line starts with a blank, and so has no token before its colon either. */
	if (name.length == line.length || !is_token(name))
		return refuse_framing(request, 400, "malformed header field");
	if (memchr(line.data, '\r', line.length) || memchr(line.data, '\0', line.length))
		return refuse_framing(request, 400, "control character in a header field");
	value = span_trimmed(value);
	if (span_is_any_case(name, "content-length"))
		return read_content_length(request, fields, value);
	if (span_is_any_case(name, "transfer-encoding"))
		fields->has_transfer_encoding = true;
	else if (span_is_any_case(name, "connection"))
		read_connection(fields, value);
	else if (span_is_any_case(name, "expect") && span_is_any_case(value, "100-continue"))
		request->expects_continue = true;
	return 0;
}

static int read_fields(struct slow_request *request, struct span rest)
{
	struct fields fields = {0};

	while (rest.length > 0) {
		struct span line = span_next_part(&rest, '\n');
		int error;

		line.length--; /* the CR that slow_request_head_length() saw */
		if (line.length == 0)
			break;
		error = read_field(request, &fields, line);
		if (error)
			return error;
	}
	if (fields.has_transfer_encoding && fields.has_content_length)
		return refuse_framing(request, 400, "Content-Length beside Transfer-Encoding");
	if (fields.has_transfer_encoding)
		return refuse_framing(request, 501, "a request's body needs a Content-Length here");
	if (fields.says_close)
		request->keep_alive = false;
	else if (fields.says_keep_alive)
		request->keep_alive = true;
	return 0;
}

/* http://host/path is as good as /path (RFC 9112 3.2.2). */
static struct span without_authority(struct span target)
{
	static const char scheme[] = "http://";
	const char *slash;

	if (target.length < sizeof(scheme) - 1 ||
	    strncasecmp(target.data, scheme, sizeof(scheme) - 1) != 0)
		return target;
	target = (struct span){target.data + sizeof(scheme) - 1,
	                       target.length - (sizeof(scheme) - 1)};
	slash = memchr(target.data, '/', target.length);
	if (!slash)
		return (struct span){"/", 1};
	return (struct span){slash, target.length - (size_t)(slash - target.data)};
}

/* @allow is "GET, POST": as the header has it. */
static bool is_among(struct span method, const char *allow)
{
	struct span rest = {allow, strlen(allow)};

	while (rest.length > 0) {
		struct span part = span_trimmed(span_next_part(&rest, ','));

		if (part.length == method.length &&
		    memcmp(part.data, method.data, part.length) == 0)
			return true;
	}
	return false;
}

static void choose_route(struct slow_request *request, struct span method, struct span target)
{
	static const char any[] = "GET, HEAD, POST, PUT, PATCH, DELETE";
	static const struct {
		const char *path;
		const char *allow;
		enum slow_route route;
	} routes[] = {
		{"/slow", any, SLOW_ROUTE_SLOW},
		{"/echo", any, SLOW_ROUTE_ECHO},
		{"/stats", "GET", SLOW_ROUTE_STATS},
		{"/stats/reset", "POST", SLOW_ROUTE_STATS_RESET},
	};
	struct span query = without_authority(target);
	struct span path = span_next_part(&query, '?');

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (!span_is(path, routes[i].path))
			continue;
		if (!is_among(method, routes[i].allow)) {
			request->allow = routes[i].allow;
			(void)refuse(request, 405, "method not allowed");
			return;
		}
		request->route = routes[i].route;
		if (request->route == SLOW_ROUTE_SLOW &&
		    slow_parameters_parse(&request->parameters, query.data, query.length,
		                          request->refused_text)) {
			request->route = SLOW_ROUTE_REFUSED;
			request->refused_status = 400;
		}
		return;
	}
	(void)refuse(request, 404, "not found: there are /slow, /echo, /stats and /stats/reset");
}

static void clear(struct slow_request *request)
{
	memset(request, 0, offsetof(struct slow_request, refused_text));
	request->refused_text[0] = '\0';
}

void slow_request_parse(struct slow_request *request, const char *head, size_t length)
{
	size_t skipped = leading_empty_lines(head, length);
	struct span rest = {head + skipped, length - skipped};
	struct span line = span_next_part(&rest, '\n');
	struct span method, target;

	clear(request);
	line.length--;
	if (read_request_line(request, line, &method, &target) || read_fields(request, rest))
		return;
	choose_route(request, method, target);
}

void slow_request_refuse_head(struct slow_request *request, int error)
{
	clear(request);
	if (error == -EMSGSIZE)
		(void)refuse_framing(request, 431, "the request's head is over 16 KiB");
	else
		(void)refuse_framing(request, 400, "a line of the head does not end with CR LF");
}
