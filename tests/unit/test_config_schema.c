#include <jansson.h>
#include <string.h>

#include "server/config_settings.h"
#include "server/config_upstream.h"
#include "server/config_upstreams.h"
#include "tests/unit/config_fixture.h"
#include "tests/unit/json_schema.h"
#include "tests/with_cmocka.h"

/* The schema that is shipped says of each key what the tables say that files are read by. */

static json_t *schema;

static int load_schema(void **state)
{
	json_error_t problem;

	(void)state;
	schema = json_load_file(SOURCE_ROOT "/server/config.schema.json", JSON_REJECT_DUPLICATES,
	                        &problem);
	return schema ? 0 : -1;
}

static int unload_schema(void **state)
{
	(void)state;
	json_decref(schema);
	return 0;
}

/* An object that has @properties and no others. */
static json_t *properties_of(const json_t *object, size_t count)
{
	json_t *properties = json_object_get(object, "properties");

	assert_string_equal(json_string_value(json_object_get(object, "type")), "object");
	assert_true(json_is_false(json_object_get(object, "additionalProperties")));
	assert_int_equal(json_object_size(properties), count);
	return properties;
}

static json_t *find(const json_t *properties, const char *key)
{
	json_t *property = json_object_get(properties, key);

	if (!property)
		print_error("the schema has no %s\n", key);
	assert_non_null(property);
	assert_non_null(json_object_get(property, "description"));
	return property;
}

static void check_range(const json_t *property, uint64_t minimum, uint64_t maximum)
{
	assert_string_equal(json_string_value(json_object_get(property, "type")), "integer");
	assert_true((uint64_t)json_integer_value(json_object_get(property, "minimum")) == minimum);
	assert_true((uint64_t)json_integer_value(json_object_get(property, "maximum")) == maximum);
}

static void check_choices(const json_t *property, const char *const *choices)
{
	const json_t *list = json_object_get(property, "enum");
	size_t count = 0;

	for (; choices[count]; count++)
		assert_string_equal(json_string_value(json_array_get(list, count)), choices[count]);
	assert_int_equal(json_array_size(list), count);
}

static void check_setting(const json_t *property, const struct config_setting *setting)
{
	const json_t *either = json_object_get(property, "anyOf");
	const char *type = json_string_value(json_object_get(property, "type"));

	if (setting->choices) {
		check_choices(property, setting->choices);
	} else if (setting->json == CONFIG_JSON_NUMBER && setting->zero_word) {
		check_range(json_array_get(either, 0), setting->minimum, setting->maximum);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(either, 1), "const")),
			setting->zero_word);
	} else if (setting->json == CONFIG_JSON_NUMBER) {
		check_range(property, setting->minimum, setting->maximum);
	} else {
		assert_string_equal(type,
		                    setting->json == CONFIG_JSON_BOOLEAN ? "boolean" : "string");
	}
}

static void has_every_setting_and_no_other(void **state)
{
	size_t count = 3; /* $schema, upstreams and allow */
	const json_t *properties;

	(void)state;
	for (const struct config_setting *setting = config_settings; setting->name; setting++)
		count += setting->only_with == CONFIG_SERVE && !setting->not_in_file;
	properties = properties_of(schema, count);
	assert_non_null(json_object_get(properties, "$schema"));
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		if (setting->only_with == CONFIG_SERVE && !setting->not_in_file)
			check_setting(find(properties, setting->name), setting);
	}
}

static size_t count_members(const struct config_member *members)
{
	size_t count = 0;

	while (members[count].key)
		count++;
	return count;
}

static void check_members(const json_t *object, const struct config_member *members)
{
	const json_t *properties = properties_of(object, count_members(members));

	for (; members->key; members++) {
		const json_t *property = find(properties, members->key);
		const char *type = json_string_value(json_object_get(property, "type"));

		if (members->members)
			check_members(property, members->members);
		else if (members->kind == &config_count)
			check_range(property, members->minimum, members->maximum);
		else if (members->kind == &config_switch)
			assert_string_equal(type, "boolean");
		else if (members->kind == &config_string)
			assert_string_equal(type, "string");
	}
}

static void has_all_that_an_upstream_can_have_and_no_more(void **state)
{
	const json_t *upstreams, *upstream, *required;

	(void)state;
	upstreams = find(json_object_get(schema, "properties"), "upstreams");
	assert_int_equal(json_integer_value(json_object_get(upstreams, "maxProperties")),
	                 CONFIG_UPSTREAMS_MAX);
	upstream = json_object_get(upstreams, "additionalProperties");
	check_members(upstream, config_upstream_members);
	required = json_object_get(upstream, "required");
	assert_int_equal(json_array_size(required), 1);
	assert_string_equal(json_string_value(json_array_get(required, 0)), "url");
}

static void says_the_defaults_of_what_is_switched_on(void **state)
{
	const struct {
		const char *object, *key;
		unsigned value;
	} defaults[] = {
		{"retry", "attempts", RETRY_DEFAULTS.attempts},
		{"retry", "base_ms", RETRY_DEFAULTS.base_ms},
		{"retry", "max_ms", RETRY_DEFAULTS.max_ms},
		{"breaker", "error_percent", BREAKER_DEFAULTS.error_percent},
		{"breaker", "min_calls", BREAKER_DEFAULTS.min_calls},
		{"breaker", "window_ms", BREAKER_DEFAULTS.window_ms},
		{"breaker", "open_ms", BREAKER_DEFAULTS.open_ms},
		{"hedge", "percentile", HEDGE_DEFAULTS.percentile},
		{"hedge", "budget_percent", HEDGE_DEFAULTS.budget_percent},
	};
	const json_t *upstreams = find(json_object_get(schema, "properties"), "upstreams");
	const json_t *properties =
		json_object_get(json_object_get(upstreams, "additionalProperties"), "properties");

	(void)state;
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
		const json_t *object = json_object_get(properties, defaults[i].object);
		const json_t *property =
			json_object_get(json_object_get(object, "properties"), defaults[i].key);

		assert_int_equal(json_integer_value(json_object_get(property, "default")),
		                 defaults[i].value);
	}
}

/* Whether the members of an object are right, to the schema and to us, which are of one mind. */
static void expect(const char *members, bool is_good)
{
	char *environment[] = {"NAME=value", NULL};
	struct config config;
	char text[512];
	json_t *value;

	assert_true(snprintf(text, sizeof(text), "{%s}", members) < (int)sizeof(text));
	value = json_loads(text, 0, NULL);
	assert_non_null(value);
	if (json_schema_admits(schema, schema, value) != is_good)
		fail_msg("the schema does not say so of %s", text);
	json_decref(value);
	config_write(text, strlen(text));
	if ((config_parse_file(NULL, environment, &config) == 0) != is_good)
		fail_msg("the reader does not say so of %s: %s", text, config_error);
	if (is_good)
		config_finish(&config);
}

/* The same of the members of an upstream that has a URL. */
static void expect_upstream(const char *members, bool is_good)
{
	char text[512];

	assert_true(snprintf(text, sizeof(text),
	                     "\"upstreams\": {\"a\": {\"url\": \"http://a\", %s}}",
	                     members) < (int)sizeof(text));
	expect(text, is_good);
}

static void admits_what_is_read(void **state)
{
	(void)state;
	expect("", true);
	expect("\"$schema\": \"x\", \"queue\": 1, \"carriers\": \"auto\", \"compare\": false",
	       true);
	expect("\"carriers\": 256, \"when-full\": \"wait\", \"listen\": \"[::1]:0\"", true);
	expect("\"allow\": []", true);
	expect("\"allow\": [\"https://a.example\", \"HTTP://*.b:8443\", \"http://[::1]:1\"]", true);
	expect("\"upstreams\": {}", true);
	expect("\"upstreams\": {\"a_b-c.9\": {\"url\": \"HTTPS://a_b.c:1/\"}}", true);
	expect_upstream("\"permits\": 0, \"http2\": true, \"ca\": \"/x\", \"timeout_ms\": 1", true);
	expect_upstream("\"headers\": {}, \"retry\": {}, \"breaker\": {}, \"hedge\": {}", true);
	expect_upstream("\"headers\": {\"A\": \"\", \"B\": {\"env\": \"NAME\"}}", true);
}

static void does_not_admit_what_is_refused(void **state)
{
	(void)state;
	expect("\"$schema\": 1", false);
	expect("\"queu\": 1", false);
	expect("\"config\": \"x\"", false);
	expect("\"queue\": 0", false);
	expect("\"queue\": 1.5", false);
	expect("\"queue\": \"1\"", false);
	expect("\"queue\": \"auto\"", false);
	expect("\"carriers\": 257", false);
	expect("\"carriers\": \"Auto\"", false);
	expect("\"compare\": \"on\"", false);
	expect("\"when-full\": \"never\"", false);
	expect("\"listen\": 80", false);
	expect("\"allow\": {}", false);
	expect("\"allow\": [1]", false);
	expect("\"allow\": [\"ftp://a\"]", false);
	expect("\"allow\": [\"https://a/\"]", false);
	expect("\"allow\": [\"https://u@a\"]", false);
	expect("\"upstreams\": []", false);
	expect("\"upstreams\": {\"a\": {}}", false);
	expect("\"upstreams\": {\"a b\": {\"url\": \"http://a\"}}", false);
	expect("\"upstreams\": {\"a\": {\"url\": \"http://a/b\"}}", false);
	expect("\"upstreams\": {\"a\": {\"url\": \"http://u:p@a\"}}", false);
	expect_upstream("\"permit\": 1", false);
	expect_upstream("\"permits\": -1", false);
	expect_upstream("\"timeout_ms\": 0", false);
	expect_upstream("\"http2\": 1", false);
	expect_upstream("\"retry\": true", false);
	expect_upstream("\"retry\": {\"attempts\": 11}", false);
	expect_upstream("\"breaker\": {\"window_ms\": 9}", false);
	expect_upstream("\"hedge\": {\"percentile\": 100}", false);
	expect_upstream("\"headers\": {\"A b\": \"c\"}", false);
	expect_upstream("\"headers\": {\"A\": 1}", false);
	expect_upstream("\"headers\": {\"A\": {\"env\": \"NAME\", \"b\": 1}}", false);
	expect_upstream("\"headers\": {\"A\": {\"var\": \"NAME\"}}", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_every_setting_and_no_other),
		cmocka_unit_test(has_all_that_an_upstream_can_have_and_no_more),
		cmocka_unit_test(says_the_defaults_of_what_is_switched_on),
		cmocka_unit_test(admits_what_is_read),
		cmocka_unit_test(does_not_admit_what_is_refused),
	};

	return cmocka_run_group_tests(tests, load_schema, unload_schema);
}
