#include "server/config_upstreams.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/config_upstream.h"

enum { NAME_MAX_BYTES = 63 };

/* ------ one upstream */

static bool is_name(const char *name)
{
	size_t bytes = strlen(name);

	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
			return false;
	}
	return bytes > 0 && bytes <= NAME_MAX_BYTES;
}

struct upstream_limits config_default_limits(const struct config *config)
{
	return (struct upstream_limits){
		.permits = config->upstream_permits,
		.permit_wait_ms = config->permit_wait_ms,
		.per_second = config->upstream_rate,
	};
}

struct upstream_settings config_upstream_defaults(const struct config *config, const char *name)
{
	return (struct upstream_settings){
		.name = name,
		.timeout_ms = config->call_timeout_ms,
		.limits = config_default_limits(config),
		.wire = {.connect_timeout_ms = config->connect_timeout_ms,
	                 .ca_file = config->upstream_ca,
	                 .insecure = config->upstream_insecure,
	                 .http2 = config->upstream_http2},
	};
}

static int check_upstream(const struct config_reader *reader, const struct config_value *value,
                          const struct config *config, const struct upstream_settings *settings)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);

	if (!settings->url)
		return config_mistake(&mistake, "url is missing");
	if (strcmp(config->client, "http1") == 0 && strncasecmp(settings->url, "https:", 6) == 0)
		return config_mistake(&mistake, "is https, which the client http1 does not speak");
	return 0;
}

static int take_upstream(const struct config_reader *reader, const struct config_value *value,
                         const char *name, struct config *config)
{
	struct upstream_settings *settings = &config->upstreams[config->upstream_count];
	struct config_mistake mistake = config_mistake_of(reader, value, true);
	int error;

	if (!is_name(name))
		return config_mistake(&mistake,
		                      "a name is 1 to %d letters, digits, points, dashes and "
		                      "underscores",
		                      NAME_MAX_BYTES);
	*settings = config_upstream_defaults(config, name);
	config->upstream_count++;
	error = config_object_take(reader, config_upstream_members, value, settings);
	return error ? error : check_upstream(reader, value, config, settings);
}

static int take_upstreams(const struct config_reader *reader, const struct config_value *value,
                          struct config *config)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);
	size_t count = json_object_size(value->json), index = 0;
	const char *name;
	json_t *json;

	if (!json_is_object(value->json))
		return config_mistake(&mistake, "is not an object");
	if (count > CONFIG_UPSTREAMS_MAX)
		return config_mistake(&mistake, "has %zu upstreams, of at most %d", count,
		                      CONFIG_UPSTREAMS_MAX);
	config->upstreams = calloc(count + 1, sizeof(*config->upstreams));
	if (!config->upstreams)
		return config_mistake(&mistake, "out of memory");
	json_object_foreach((json_t *)value->json, name, json)
	{
		struct config_value within = config_value_within(value, name, json, index++);
		int error = take_upstream(reader, &within, name, config);

		if (error)
			return error;
	}
	return 0;
}

/* ------ what else may be called */

static int take_allow(const struct config_reader *reader, const struct config_value *value,
                      struct config *config)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);
	size_t count = json_array_size(value->json), i;
	json_t *json;

	if (!json_is_array(value->json))
		return config_mistake(&mistake, "is not an array");
	if (count > CONFIG_ALLOW_MAX)
		return config_mistake(&mistake, "has %zu patterns, of at most %d", count,
		                      CONFIG_ALLOW_MAX);
	config->allow = calloc(count + 1, sizeof(*config->allow));
	if (!config->allow)
		return config_mistake(&mistake, "out of memory");
	json_array_foreach(value->json, i, json)
	{
		struct config_value within = config_value_within(value, NULL, json, i);
		const char *text = json_string_value(json), *reason = "it is not a string";

		if (!text || url_pattern_parse(text, &config->allow[i], &reason) < 0) {
			mistake = config_mistake_of(reader, &within, false);
			return config_mistake(&mistake, "is no pattern of a URL: %s", reason);
		}
		config->allow_count++;
	}
	return 0;
}

/* ------ both */

static const struct part {
	const char *key; /* NULL at the end */
	int (*take)(const struct config_reader *reader, const struct config_value *value,
	            struct config *config);
} parts[] = {
	{"upstreams", take_upstreams},
	{"allow", take_allow},
	{NULL, NULL},
};

static const struct part *find_part(const char *key)
{
	for (const struct part *part = parts; part->key; part++) {
		if (strcmp(part->key, key) == 0)
			return part;
	}
	return NULL;
}

bool config_is_part(const char *key)
{
	return find_part(key) != NULL;
}

int config_parts_take(const struct config_reader *reader, struct config *config)
{
	size_t index = 0;
	const char *key;
	json_t *json;

	json_object_foreach(config->file->root, key, json)
	{
		const struct part *part = find_part(key);
		struct config_value value = {.json = json, .way = {NULL, index++}};
		int error;

		(void)snprintf(value.who, sizeof(value.who), "%.63s", key);
		error = part ? part->take(reader, &value, config) : 0;
		if (error)
			return error;
	}
	return 0;
}

void config_print_part_place(const struct config *config, const char *part, size_t index,
                             char out[CONFIG_PLACE_BYTES])
{
	struct json_way whole = {NULL, 0}, within = {&whole, index};
	const char *key;
	json_t *json;

	json_object_foreach(config->file->root, key, json)
	{
		if (strcmp(key, part) == 0)
			break;
		whole.index++;
	}
	config_file_print_place(config->file, index == SIZE_MAX ? &whole : &within, false, out,
	                        CONFIG_PLACE_BYTES);
}

void config_parts_print(const struct config *config, FILE *out)
{
	const json_t *root = config->file ? config->file->root : NULL;
	const json_t *upstreams = json_object_get(root, "upstreams");
	const json_t *allow = json_object_get(root, "allow");
	char who[CONFIG_WHO_BYTES];

	for (size_t i = 0; i < config->upstream_count; i++) {
		const struct upstream_settings *settings = &config->upstreams[i];

		(void)snprintf(who, sizeof(who), "upstreams.%s", settings->name);
		config_object_print(out, who, config_upstream_members,
		                    json_object_get(upstreams, settings->name), settings);
	}
	for (size_t i = 0; i < config->allow_count; i++) {
		(void)snprintf(who, sizeof(who), "allow[%zu]", i);
		config_print_line(out, who, json_string_value(json_array_get(allow, i)), "file");
	}
}

void config_parts_finish(struct config *config)
{
	for (size_t i = 0; i < config->upstream_count; i++)
		free((void *)config->upstreams[i].headers);
	free(config->upstreams);
	free(config->allow);
	config->upstreams = NULL;
	config->allow = NULL;
	config->upstream_count = config->allow_count = 0;
}
