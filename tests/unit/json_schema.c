#include "tests/unit/json_schema.h"

#include <regex.h>
#include <string.h>

#include "tests/with_cmocka.h"

struct check {
	const json_t *root, *schema;
	const json_t *word; /* what the schema says about it */
	const json_t *value;
};

static bool admits(const struct check *check, const json_t *schema, const json_t *value)
{
	return json_schema_admits(check->root, schema, value);
}

static bool has_type(const struct check *check)
{
	static const struct {
		const char *name;
		json_type type;
	} types[] = {{"object", JSON_OBJECT},
	             {"array", JSON_ARRAY},
	             {"string", JSON_STRING},
	             {"integer", JSON_INTEGER}};

	if (strcmp("boolean", json_string_value(check->word)) == 0)
		return json_is_boolean(check->value);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, json_string_value(check->word)) == 0)
			return json_typeof(check->value) == types[i].type;
	fail_msg("an unknown type");
	return false;
}

static bool is_one_of(const struct check *check)
{
	size_t index;
	json_t *choice;

	json_array_foreach(check->word, index,
	                   choice) if (json_equal(choice, check->value)) return true;
	return false;
}

static bool is_constant(const struct check *check)
{
	return json_equal(check->word, check->value);
}

static bool is_at_least(const struct check *check)
{
	return !json_is_number(check->value) ||
	       json_number_value(check->value) >= json_number_value(check->word);
}

static bool is_at_most(const struct check *check)
{
	return !json_is_number(check->value) ||
	       json_number_value(check->value) <= json_number_value(check->word);
}

/* Characters of a string. */
static size_t length_of(const json_t *string)
{
	const char *text = json_string_value(string);
	size_t length = 0;

	for (; text && *text; text++)
		length += ((unsigned char)*text & 0xC0) != 0x80;
	return length;
}

static bool is_long_enough(const struct check *check)
{
	return !json_is_string(check->value) ||
	       length_of(check->value) >= (size_t)json_integer_value(check->word);
}

static bool is_short_enough(const struct check *check)
{
	return !json_is_string(check->value) ||
	       length_of(check->value) <= (size_t)json_integer_value(check->word);
}

static bool matches(const struct check *check)
{
	regex_t regex;
	int result;

	if (!json_is_string(check->value))
		return true;
	assert_int_equal(regcomp(&regex, json_string_value(check->word), REG_EXTENDED | REG_NOSUB),
	                 0);
	result = regexec(&regex, json_string_value(check->value), 0, NULL, 0);
	regfree(&regex);
	return result == 0;
}

static bool has_required(const struct check *check)
{
	size_t index;
	json_t *key;

	if (!json_is_object(check->value))
		return true;
	json_array_foreach(check->word, index, key)
	{
		if (!json_object_get(check->value, json_string_value(key)))
			return false;
	}
	return true;
}

static bool has_good_properties(const struct check *check)
{
	const char *key;
	json_t *schema;

	json_object_foreach((json_t *)check->word, key, schema)
	{
		const json_t *member = json_object_get(check->value, key);

		if (member && !admits(check, schema, member))
			return false;
	}
	return true;
}

static bool has_good_others(const struct check *check)
{
	const json_t *known = json_object_get(check->schema, "properties");
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)check->value, key, member)
	{
		if (!json_object_get(known, key) && !admits(check, check->word, member))
			return false;
	}
	return true;
}

static bool has_good_names(const struct check *check)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)check->value, key, member)
	{
		json_t *name = json_string(key);
		bool is_good = admits(check, check->word, name);

		json_decref(name);
		if (!is_good)
			return false;
	}
	return true;
}

static bool has_few_properties(const struct check *check)
{
	return json_object_size(check->value) <= (size_t)json_integer_value(check->word);
}

static bool has_good_items(const struct check *check)
{
	size_t index;
	json_t *item;

	json_array_foreach(check->value, index,
	                   item) if (!admits(check, check->word, item)) return false;
	return true;
}

static bool has_enough_items(const struct check *check)
{
	return !json_is_array(check->value) ||
	       json_array_size(check->value) >= (size_t)json_integer_value(check->word);
}

static bool has_few_items(const struct check *check)
{
	return !json_is_array(check->value) ||
	       json_array_size(check->value) <= (size_t)json_integer_value(check->word);
}

static bool has_no_item_twice(const struct check *check)
{
	size_t count = json_array_size(check->value);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (json_equal(json_array_get(check->value, i),
			               json_array_get(check->value, j)))
				return false;
	return true;
}

static bool is_not(const struct check *check)
{
	return !admits(check, check->word, check->value);
}

static bool is_all(const struct check *check)
{
	size_t index;
	json_t *schema;

	json_array_foreach(check->word, index, schema)
	{
		if (!admits(check, schema, check->value))
			return false;
	}
	return true;
}

static bool is_any(const struct check *check)
{
	size_t index;
	json_t *schema;

	json_array_foreach(check->word, index, schema)
	{
		if (admits(check, schema, check->value))
			return true;
	}
	return false;
}

static bool is_if_then_else(const struct check *check)
{
	bool is_so = admits(check, check->word, check->value);
	const json_t *branch = json_object_get(check->schema, is_so ? "then" : "else");

	return !branch || admits(check, branch, check->value);
}

static bool is_as_defined(const struct check *check)
{
	static const char prefix[] = "#/$defs/";
	const char *reference = json_string_value(check->word);
	const json_t *schema;

	assert_int_equal(strncmp(reference, prefix, sizeof(prefix) - 1), 0);
	schema = json_object_get(json_object_get(check->root, "$defs"),
	                         reference + sizeof(prefix) - 1);
	assert_non_null(schema);
	return admits(check, schema, check->value);
}

static bool is_anything(const struct check *check)
{
	(void)check;
	return true;
}

static const struct word {
	const char *name;
	bool (*check)(const struct check *check);
} words[] = {
	{"type", has_type},
	{"enum", is_one_of},
	{"const", is_constant},
	{"minimum", is_at_least},
	{"maximum", is_at_most},
	{"minLength", is_long_enough},
	{"maxLength", is_short_enough},
	{"pattern", matches},
	{"required", has_required},
	{"properties", has_good_properties},
	{"additionalProperties", has_good_others},
	{"propertyNames", has_good_names},
	{"maxProperties", has_few_properties},
	{"items", has_good_items},
	{"minItems", has_enough_items},
	{"maxItems", has_few_items},
	{"uniqueItems", has_no_item_twice},
	{"not", is_not},
	{"allOf", is_all},
	{"anyOf", is_any},
	{"if", is_if_then_else},
	{"$ref", is_as_defined},
	{"then", is_anything},
	{"else", is_anything},
	{"$schema", is_anything},
	{"$defs", is_anything},
	{"$comment", is_anything},
	{"title", is_anything},
	{"description", is_anything},
	{"default", is_anything},
};

bool json_schema_admits(const json_t *root, const json_t *schema, const json_t *value)
{
	const char *name;
	json_t *word;

	if (json_is_boolean(schema))
		return json_is_true(schema);
	json_object_foreach((json_t *)schema, name, word)
	{
		struct check check = {root, schema, word, value};
		size_t i = 0, count = sizeof(words) / sizeof(words[0]);

		while (i < count && strcmp(words[i].name, name) != 0)
			i++;
		if (i == count)
			fail_msg("%s is not known", name);
		if (!words[i].check(&check))
			return false;
	}
	return true;
}
