#include "handlers/calls_reply.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "handlers/base64.h"
#include "handlers/json_arena.h"
#include "handlers/json_survey.h"
#include "handlers/utf8.h"

enum { JSON_MAX_DEPTH = 64 };

/* application/json, or a type with the suffix +json (RFC 6839), whatever parameters follow. */
static bool names_json(const char *content_type)
{
	size_t length = content_type ? strcspn(content_type, "; \t") : 0;

	if (length == strlen("application/json") &&
	    strncasecmp(content_type, "application/json", length) == 0)
		return true;
	return length > 5 && strncasecmp(content_type + length - 5, "+json", 5) == 0;
}

static bool is_json(const char *body, size_t length, size_t memory_bytes)
{
	struct json_survey survey = json_survey(body, length);
	struct json_arena tree;

	if (survey.depth > JSON_MAX_DEPTH || survey.tree_bytes > memory_bytes)
		return false;
	/* It is passed on as it is, so large numbers and NULs do no harm. */
	if (!json_arena_load(&tree, body, length,
	                     JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL))
		return false;
	json_arena_finish(&tree);
	return true;
}

enum calls_reply_kind calls_reply_kind(const char *content_type, const char *body, size_t length,
                                       size_t memory_bytes)
{
	if (names_json(content_type) && is_json(body, length, memory_bytes))
		return CALLS_REPLY_JSON;
	if (utf8_is_valid(body, length) && !memchr(body, '\0', length))
		return CALLS_REPLY_TEXT;
	return CALLS_REPLY_BASE64;
}

/* JSON has line breaks between its tokens alone, where a space will do. */
static void append_on_one_line(struct text_buffer *buffer, const char *json, size_t length)
{
	while (length > 0) {
		size_t line = strcspn(json, "\r\n");

		if (line >= length)
			break;
		text_buffer_append_bytes(buffer, json, line);
		text_buffer_append_bytes(buffer, " ", 1);
		json += line + 1;
		length -= line + 1;
	}
	text_buffer_append_bytes(buffer, json, length);
}

void calls_reply_print_body(struct text_buffer *buffer, enum calls_reply_kind kind,
                            const char *body, size_t length)
{
	switch (kind) {
	case CALLS_REPLY_TEXT:
		text_buffer_append(buffer, "\"");
		text_buffer_append_escaped(buffer, body, length);
		text_buffer_append(buffer, "\"");
		break;
	case CALLS_REPLY_JSON:
		append_on_one_line(buffer, body, length);
		break;
	case CALLS_REPLY_BASE64:
		text_buffer_append(buffer, "{\"base64\":\"");
		base64_append(buffer, body, length);
		text_buffer_append(buffer, "\"}");
		break;
	}
}

/* Those that are shown, in lower case; at most 32. */
static const struct shown {
	const char *name;
	size_t length;
} shown[] = {
#define SHOWN(name)                                                                                \
	{                                                                                          \
		name, sizeof(name) - 1                                                             \
	}
	SHOWN("age"),
	SHOWN("cache-control"),
	SHOWN("content-disposition"),
	SHOWN("content-encoding"),
	SHOWN("content-language"),
	SHOWN("content-location"),
	SHOWN("content-type"),
	SHOWN("etag"),
	SHOWN("expires"),
	SHOWN("last-modified"),
	SHOWN("link"),
	SHOWN("location"),
	SHOWN("retry-after"),
	SHOWN("vary"),
	SHOWN("x-request-id"),
#undef SHOWN
};

/* NULL: it is not. */
static const struct shown *find_shown(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (shown[i].length == length && strcasecmp(shown[i].name, name) == 0)
			return &shown[i];
	return NULL;
}

/* What is not UTF-8 is taken for ISO 8859-1, as it once was by definition: RFC 9110, 5.5. */
static void append_value(struct text_buffer *buffer, const char *value)
{
	size_t length = strlen(value);

	if (utf8_is_valid(value, length)) {
		text_buffer_append_escaped(buffer, value, length);
		return;
	}
	for (; *value; value++) {
		unsigned char byte = (unsigned char)*value;
		char pair[] = {(char)(0xC0 | byte >> 6), (char)(0x80 | (byte & 0x3F))};

		if (byte < 0x80)
			text_buffer_append_escaped(buffer, value, 1);
		else
			text_buffer_append_bytes(buffer, pair, sizeof(pair));
	}
}

/* All values of the field that @headers[0] is the first of. */
static void append_field(struct text_buffer *buffer, const struct shown *field,
                         const struct http_header *headers, size_t count)
{
	text_buffer_append(buffer, "\"");
	text_buffer_append_bytes(buffer, field->name, field->length);
	text_buffer_append(buffer, "\":\"");
	append_value(buffer, headers[0].value);
	for (size_t i = 1; i < count; i++) {
		if (find_shown(headers[i].name) != field)
			continue;
		text_buffer_append(buffer, ", ");
		append_value(buffer, headers[i].value);
	}
	text_buffer_append(buffer, "\",");
}

void calls_reply_print_headers(struct text_buffer *buffer, const struct http_header *headers,
                               size_t count)
{
	unsigned done = 0; /* a bit for each field */

	text_buffer_append(buffer, "{");
	for (size_t i = 0; i < count; i++) {
		const struct shown *field = find_shown(headers[i].name);

		if (!field || done & 1u << (field - shown))
			continue;
		done |= 1u << (field - shown);
		append_field(buffer, field, headers + i, count - i);
	}
	text_buffer_trim(buffer, ',');
	text_buffer_append(buffer, "}");
}
