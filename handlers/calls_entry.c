#include "handlers/calls_entry.h"

#include <string.h>
#include <strings.h>

#include "clients/http_header.h"

/* What is being read, and where a violation is put. */
struct reader {
	struct calls_entry *entry;
	size_t index;
	int64_t max_timeout_ms;
	struct calls_violation *violation;
};

/* At member @key; NULL: at the whole call. */
#define REFUSE(reader, key, ...)                                                                   \
	(calls_violation_in_call((reader)->violation, (reader)->index, key),                       \
	 calls_violate((reader)->violation, __VA_ARGS__))

static int read_id(struct reader *reader, json_t *value)
{
	struct calls_entry *entry = reader->entry;

	entry->id = json_string_value(value);
	entry->id_length = json_string_length(value);
	if (!entry->id || entry->id_length == 0 || entry->id_length > CALLS_ID_MAX_BYTES)
		return REFUSE(reader, "id", "must be a string of 1 to %d bytes",
		              CALLS_ID_MAX_BYTES);
	return 0;
}

static int read_method(struct reader *reader, json_t *value)
{
	static const char *const methods[][2] = {
		{"GET", "get"},     {"HEAD", "head"},     {"POST", "post"},       {"PUT", "put"},
		{"PATCH", "patch"}, {"DELETE", "delete"}, {"OPTIONS", "options"},
	};
	const char *text = json_string_value(value);

	for (size_t i = 0; text && i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(text, methods[i][0]) != 0 && strcmp(text, methods[i][1]) != 0)
			continue;
		reader->entry->method = methods[i][0];
		return 0;
	}
	return REFUSE(reader, "method", "must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS");
}

static bool is_sendable(const char *url)
{
	for (; *url; url++)
		if (*url <= ' ' || *url > '~' || *url == '#')
			return false;
	return true;
}

static int read_url(struct reader *reader, json_t *value)
{
	struct calls_entry *entry = reader->entry;

	entry->url = json_string_value(value);
	entry->url_length = json_string_length(value);
	if (!entry->url || entry->url_length > CALLS_URL_MAX_BYTES)
		return REFUSE(reader, "url", "must be a string of at most %d bytes",
		              CALLS_URL_MAX_BYTES);
	if (!calls_entry_is_path(entry) && strncasecmp(entry->url, "http://", 7) != 0 &&
	    strncasecmp(entry->url, "https://", 8) != 0)
		return REFUSE(reader, "url", "must start with a slash, http:// or https://");
	if (!is_sendable(entry->url))
		return REFUSE(reader, "url",
		              "has a fragment, or a character that needs percent-encoding");
	return 0;
}

static int read_upstream(struct reader *reader, json_t *value)
{
	reader->entry->upstream = json_string_value(value);
	if (!reader->entry->upstream)
		return REFUSE(reader, "upstream", "must be the name of an upstream");
	return 0;
}

/* What says which request and span a call belongs to: request_context.h. */
static bool is_of_context(const char *name)
{
	return strcasecmp(name, "traceparent") == 0 || strcasecmp(name, "tracestate") == 0 ||
	       strcasecmp(name, "x-request-id") == 0;
}

/* Why the field cannot be sent; NULL: it can. */
static const char *header_fault(const char *name, size_t name_length, const json_t *value)
{
	if (!http_header_name_is_valid(name, name_length))
		return "is not the name of a header";
	if (http_header_is_reserved(name) || is_of_context(name))
		return "is a header that fanoutd sees to itself";
	if (!json_is_string(value) ||
	    !http_header_value_is_valid(json_string_value(value), json_string_length(value)))
		return "must be a string without control characters, or spaces at its ends";
	return NULL;
}

/* Of @headers, up to @until, one has that name in another spelling. */
static bool is_repeated(json_t *headers, const char *until)
{
	for (void *at = json_object_iter(headers); json_object_iter_key(at) != until;
	     at = json_object_iter_next(headers, at))
		if (strcasecmp(json_object_iter_key(at), until) == 0)
			return true;
	return false;
}

static int refuse_header(const struct reader *reader, const char *name, const char *fault)
{
	calls_violation_in_call(reader->violation, reader->index, "headers");
	json_pointer_add_member(&reader->violation->pointer, name, strlen(name));
	return calls_violate(reader->violation, "%s", fault);
}

static int read_headers(struct reader *reader, json_t *value)
{
	if (!json_is_object(value) || json_object_size(value) > CALLS_HEADERS_MAX)
		return REFUSE(reader, "headers", "must be an object of at most %d members",
		              CALLS_HEADERS_MAX);
	for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
		const char *name = json_object_iter_key(at);
		const json_t *text = json_object_iter_value(at);
		const char *fault = header_fault(name, strlen(name), text);

		if (!fault && is_repeated(value, name))
			fault = "is given twice";
		if (fault)
			return refuse_header(reader, name, fault);
		if (strcasecmp(name, "content-type") == 0)
			reader->entry->content_type = json_string_value(text);
	}
	reader->entry->headers = value;
	return 0;
}

static int read_body(struct reader *reader, json_t *value)
{
	struct calls_entry *entry = reader->entry;
	const json_t *base64 = json_object_get(value, "base64");

	entry->body_kind = CALLS_BODY_JSON;
	entry->body = value;
	if (json_is_string(value))
		entry->body_kind = CALLS_BODY_TEXT;
	if (json_is_string(base64) && json_object_size(value) == 1) {
		entry->body_kind = CALLS_BODY_BASE64;
		entry->body = base64;
	}
	return 0;
}

static int read_timeout(struct reader *reader, json_t *value)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 1 || number > reader->max_timeout_ms)
		return REFUSE(reader, "timeout_ms", "must be a whole number from 1 to %lld",
		              (long long)reader->max_timeout_ms);
	reader->entry->timeout_ms = (unsigned)number;
	return 0;
}

static int read_depends_on(struct reader *reader, json_t *value)
{
	size_t index;
	json_t *id;

	if (!json_is_array(value))
		return REFUSE(reader, "dependsOn", "must be an array of ids");
	json_array_foreach(value, index, id)
	{
		if (json_is_string(id))
			continue;
		calls_violation_in_call(reader->violation, reader->index, "dependsOn");
		json_pointer_add_element(&reader->violation->pointer, index);
		return calls_violate(reader->violation, "must be the id of another call");
	}
	if (json_array_size(value) > 0)
		reader->entry->depends_on = value;
	return 0;
}

static const struct member {
	const char *key;
	int (*read)(struct reader *reader, json_t *value);
} members[] = {
	{"id", read_id},
	{"method", read_method},
	{"url", read_url},
	{"upstream", read_upstream},
	{"headers", read_headers},
	{"body", read_body},
	{"timeout_ms", read_timeout},
	{"dependsOn", read_depends_on},
};

static int read_member(struct reader *reader, const char *key, json_t *value)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (strcmp(key, members[i].key) == 0)
			return members[i].read(reader, value);
	return REFUSE(reader, key, "is not a member of a call");
}

/* What no member says alone. */
static int check(struct reader *reader)
{
	const struct calls_entry *entry = reader->entry;

	if (!entry->id)
		return REFUSE(reader, NULL, "id is missing");
	if (!entry->url)
		return REFUSE(reader, NULL, "url is missing");
	if (entry->upstream && !calls_entry_is_path(entry))
		return REFUSE(reader, "upstream", "goes with a url that is a path");
	if (entry->body_kind == CALLS_BODY_NONE)
		return 0;
	if (strcmp(entry->method, "GET") == 0 || strcmp(entry->method, "HEAD") == 0)
		return REFUSE(reader, "body", "cannot be sent with %s", entry->method);
	if (entry->body_kind == CALLS_BODY_TEXT && !entry->content_type)
		return REFUSE(reader, "body", "a string needs a content-type header beside it");
	return 0;
}

int calls_entry_read(json_t *value, size_t index, int64_t max_timeout_ms, struct calls_entry *out,
                     struct calls_violation *violation)
{
	struct reader reader = {out, index, max_timeout_ms, violation};

	*out = (struct calls_entry){.method = "GET"};
	if (!json_is_object(value))
		return REFUSE(&reader, NULL, "must be an object");
	for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
		int error =
			read_member(&reader, json_object_iter_key(at), json_object_iter_value(at));

		if (error)
			return error;
	}
	return check(&reader);
}
