#include "server/config_headers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients/http_header.h"
#include "server/config_upstreams.h"
#include "server/environment.h"

/* The text of a value; NULL with the mistake written. */
static const char *read_value(const struct config_reader *reader, const struct config_value *value)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);
	const char *name = json_string_value(json_object_get(value->json, "env"));
	const char *text;

	if (json_is_string(value->json))
		return json_string_value(value->json);
	if (!name || json_object_size(value->json) != 1) {
		(void)config_mistake(&mistake, "is neither a string nor {\"env\": \"NAME\"}");
		return NULL;
	}
	text = environment_find(reader->environment, name);
	if (!text)
		(void)config_mistake(&mistake, "%.100s is not in the environment", name);
	return text;
}

static int take_header(const struct config_reader *reader, const char *name,
                       const struct config_value *value, struct http_header *out)
{
	struct config_mistake of_name = config_mistake_of(reader, value, true);
	struct config_mistake of_value = config_mistake_of(reader, value, false);
	const char *text;

	if (!http_header_name_is_valid(name, strlen(name)))
		return config_mistake(&of_name, "is no name of a header");
	if (http_header_is_reserved(name))
		return config_mistake(&of_name, "is for the client alone to send");
	text = read_value(reader, value);
	if (!text)
		return -EINVAL;
	if (!http_header_value_is_valid(text, strlen(text)))
		return config_mistake(&of_value,
		                      "its value cannot be sent: it has a blank at an end or "
		                      "a control character");
	*out = (struct http_header){name, text};
	return 0;
}

/* JSON tells "Accept" and "accept" apart. */
static bool is_among(const struct upstream_settings *settings, const char *name)
{
	return http_header_find(settings->headers, settings->header_count, name) != NULL;
}

static int take_headers(const struct config_reader *reader, const struct config_member *member,
                        const struct config_value *value, void *target)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);
	size_t count = json_object_size(value->json), index = 0;
	struct upstream_settings *settings = target;
	struct http_header *headers;
	const char *name;
	json_t *json;

	(void)member;
	if (!json_is_object(value->json))
		return config_mistake(&mistake, "is not an object");
	if (count > CONFIG_UPSTREAM_HEADERS_MAX)
		return config_mistake(&mistake, "has %zu headers, of at most %d", count,
		                      CONFIG_UPSTREAM_HEADERS_MAX);
	headers = calloc(count + 1, sizeof(*headers));
	if (!headers)
		return config_mistake(&mistake, "out of memory");
	settings->headers = headers;
	json_object_foreach((json_t *)value->json, name, json)
	{
		struct config_value within = config_value_within(value, name, json, index++);
		int error;

		mistake = config_mistake_of(reader, &within, true);
		if (is_among(settings, name))
			return config_mistake(&mistake, "comes twice");
		error = take_header(reader, name, &within, &headers[settings->header_count]);
		if (error)
			return error;
		settings->header_count++;
	}
	return 0;
}

static void print_headers(FILE *out, const char *who, const struct config_member *member,
                          const json_t *in_file, const void *target)
{
	const char *name;
	json_t *json;

	(void)member;
	(void)target;
	json_object_foreach((json_t *)in_file, name, json)
	{
		const char *variable = json_string_value(json_object_get(json, "env"));
		char whole_name[CONFIG_WHO_BYTES], source[CONFIG_WHO_BYTES];

		(void)snprintf(whole_name, sizeof(whole_name), "%.95s.%.63s", who, name);
		(void)snprintf(source, sizeof(source), "environment: %.100s",
		               variable ? variable : "");
		config_print_line(out, whole_name, "(redacted)", variable ? source : "file");
	}
}

const struct config_kind config_headers = {take_headers, print_headers};
