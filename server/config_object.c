#include "server/config_object.h"

#include <stdint.h>
#include <string.h>

/* For people: cut if it is too long. */
static void print_who(char who[CONFIG_WHO_BYTES], const char *parent, const char *key)
{
	(void)snprintf(who, CONFIG_WHO_BYTES, "%.95s.%.63s", parent, key);
}

struct config_value config_value_within(const struct config_value *parent, const char *key,
                                        const json_t *json, size_t index)
{
	struct config_value value = {.json = json, .way = {&parent->way, index}};

	if (key)
		print_who(value.who, parent->who, key);
	else
		(void)snprintf(value.who, sizeof(value.who), "%.100s[%zu]", parent->who, index);
	return value;
}

struct config_mistake config_mistake_of(const struct config_reader *reader,
                                        const struct config_value *value, bool of_key)
{
	return (struct config_mistake){
		.who = value->who,
		.text = reader->error,
		.text_bytes = reader->error_bytes,
		.file = reader->file,
		.way = &value->way,
		.is_of_key = of_key,
	};
}

/* ------ objects */

static const struct config_member *find_member(const struct config_member *members, const char *key)
{
	for (; members->key; members++) {
		if (strcmp(members->key, key) == 0)
			return members;
	}
	return NULL;
}

static int refuse_key(const struct config_reader *reader, const struct config_member *members,
                      const struct config_value *value)
{
	struct config_mistake mistake = config_mistake_of(reader, value, true);
	char keys[200];
	size_t used = 0;

	/* Cut short if they do not fit: they are for people. */
	for (; members->key && used < sizeof(keys); members++) {
		int length = snprintf(keys + used, sizeof(keys) - used, "%s%s", used ? ", " : "",
		                      members->key);

		used += length > 0 ? (size_t)length : 0;
	}
	return config_mistake(&mistake, "is none of %s", keys);
}

int config_object_take(const struct config_reader *reader, const struct config_member *members,
                       const struct config_value *value, void *target)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);
	size_t index = 0;
	const char *key;
	json_t *json;

	if (!json_is_object(value->json))
		return config_mistake(&mistake, "is not an object");
	json_object_foreach((json_t *)value->json, key, json)
	{
		const struct config_member *member = find_member(members, key);
		struct config_value within = config_value_within(value, key, json, index++);
		int error = member ? member->kind->take(reader, member, &within, target)
		                   : refuse_key(reader, members, &within);

		if (error)
			return error;
	}
	return 0;
}

void config_object_print(FILE *out, const char *who, const struct config_member *members,
                         const json_t *in_file, const void *target)
{
	char within[CONFIG_WHO_BYTES];

	for (; members->key; members++) {
		print_who(within, who, members->key);
		members->kind->print(out, within, members, json_object_get(in_file, members->key),
		                     target);
	}
}

void config_object_print_field(FILE *out, const char *who, const struct config_member *member,
                               const json_t *in_file, const void *target)
{
	if (in_file)
		config_object_print(out, who, member->members, in_file,
		                    (const char *)target + member->offset);
	else
		config_print_line(out, who, "none", "default");
}

/* ------ numbers */

static int take_count(const struct config_reader *reader, const struct config_member *member,
                      const struct config_value *value, void *target)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);
	json_int_t number = json_integer_value(value->json);

	if (!json_is_integer(value->json))
		return config_mistake(&mistake, "is not a whole number");
	if (number < (json_int_t)member->minimum || number > (json_int_t)member->maximum)
		return config_mistake(&mistake, "%jd is not a number from %u to %u",
		                      (intmax_t)number, member->minimum, member->maximum);
	*(unsigned *)((char *)target + member->offset) = (unsigned)number;
	return 0;
}

static const char *source_name(const json_t *in_file)
{
	return in_file ? "file" : "default";
}

static void print_count(FILE *out, const char *who, const struct config_member *member,
                        const json_t *in_file, const void *target)
{
	unsigned number = *(const unsigned *)((const char *)target + member->offset);
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%u", number);
	config_print_line(out, who, number == 0 && member->if_zero ? member->if_zero : digits,
	                  source_name(in_file));
}

const struct config_kind config_count = {take_count, print_count};

/* ------ switches */

static int take_switch(const struct config_reader *reader, const struct config_member *member,
                       const struct config_value *value, void *target)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);

	if (!json_is_boolean(value->json))
		return config_mistake(&mistake, "is neither true nor false");
	*(bool *)((char *)target + member->offset) = json_is_true(value->json);
	return 0;
}

static void print_switch(FILE *out, const char *who, const struct config_member *member,
                         const json_t *in_file, const void *target)
{
	bool is_on = *(const bool *)((const char *)target + member->offset);

	config_print_line(out, who, is_on ? "on" : "off", source_name(in_file));
}

const struct config_kind config_switch = {take_switch, print_switch};

/* ------ strings */

static int take_string(const struct config_reader *reader, const struct config_member *member,
                       const struct config_value *value, void *target)
{
	struct config_mistake mistake = config_mistake_of(reader, value, false);

	if (!json_is_string(value->json))
		return config_mistake(&mistake, "is not a string");
	*(const char **)((char *)target + member->offset) = json_string_value(value->json);
	return 0;
}

static void print_string(FILE *out, const char *who, const struct config_member *member,
                         const json_t *in_file, const void *target)
{
	const char *text = *(const char *const *)((const char *)target + member->offset);

	if (!text)
		text = member->if_zero ? member->if_zero : "";
	config_print_line(out, who, text, source_name(in_file));
}

const struct config_kind config_string = {take_string, print_string};
