#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "server/config_file.h"
#include "server/config_settings.h"
#include "server/config_upstreams.h"
#include "server/upstream_url.h"

#define VARIABLE_PREFIX "FANOUTD_"

/* What one run of config_parse() works on. */
struct parse {
	struct config config;
	char *error;
	size_t error_bytes;
	char unknown_variable[64]; /* the first one, for the warning */
	unsigned unknown_variables;
};

static int complain(const struct parse *parse, const char *who, const char *what)
{
	struct config_mistake mistake = {who, parse->error, parse->error_bytes};

	return config_mistake(&mistake, "%s", what);
}

/* ------ one value */

static size_t index_of(const struct config_setting *setting)
{
	return (size_t)(setting - config_settings);
}

static enum config_source source_of(const struct parse *parse, const struct config_setting *setting)
{
	return parse->config.origins[index_of(setting)].source;
}

static int take_into(struct config *config, const struct config_setting *setting, const char *text,
                     enum config_source source, const struct config_mistake *mistake)
{
	char *field = (char *)config + setting->field_offset;
	int error;

	/* A flag given twice may have set it before: the last one counts. */
	memset(field, 0, setting->field_bytes);
	if (!setting->zero_word || strcmp(text, setting->zero_word) != 0) {
		error = setting->take(setting, text, field, mistake);
		if (error)
			return error;
	}
	config->origins[index_of(setting)].source = source;
	config->origins[index_of(setting)].text = text;
	return 0;
}

static int take(struct parse *parse, const struct config_setting *setting, const char *text,
                enum config_source source, const char *who)
{
	struct config_mistake mistake = {who, parse->error, parse->error_bytes};

	return take_into(&parse->config, setting, text, source, &mistake);
}

static bool is_named(const char *name, const char *text, size_t text_bytes)
{
	return strlen(name) == text_bytes && memcmp(name, text, text_bytes) == 0;
}

static const struct config_setting *find_setting(const char *name, size_t name_bytes)
{
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		if (is_named(setting->name, name, name_bytes))
			return setting;
	}
	return NULL;
}

/* ------ the command line */

static const struct config_command_flag *find_command(const char *name, size_t name_bytes)
{
	for (const struct config_command_flag *flag = config_commands; flag->name; flag++) {
		if (is_named(flag->name, name, name_bytes))
			return flag;
	}
	return NULL;
}

static int take_command(struct parse *parse, const struct config_command_flag *flag,
                        const char *value, const char *who)
{
	const char *mistake;

	if (value && !flag->placeholder)
		return complain(parse, who, "takes no value");
	if (value && upstream_url_check(value, &mistake))
		return complain(parse, who, mistake);
	if (parse->config.command != CONFIG_SERVE && parse->config.command != flag->command)
		return complain(parse, who, "only one command can be given");
	parse->config.command = flag->command;
	if (flag->command == CONFIG_HEALTHCHECK)
		parse->config.healthcheck_url = value;
	return 0;
}

/* One argument, and the next one if that is its value. */
static int take_argument(struct parse *parse, char *const **cursor)
{
	const char *argument = *(*cursor)++;
	const char *name = argument + 2, *value = NULL;
	const struct config_command_flag *command;
	const struct config_setting *setting;
	size_t name_bytes;
	char who[48];

	if (strncmp(argument, "--", 2) != 0)
		return complain(parse, argument, "unexpected argument; --help lists the flags");
	name_bytes = strcspn(name, "=");
	if (name[name_bytes] == '=')
		value = name + name_bytes + 1;
	command = find_command(name, name_bytes);
	setting = find_setting(name, name_bytes);
	if (!command && !setting)
		return complain(parse, argument, "unknown flag; --help lists them");
	(void)snprintf(who, sizeof(who), "--%s", command ? command->name : setting->name);
	if (!command && !value && !setting->placeholder)
		value = "on";
	if ((!command || command->placeholder) && !value && **cursor &&
	    strncmp(**cursor, "--", 2) != 0)
		value = *(*cursor)++;
	if (command)
		return take_command(parse, command, value, who);
	if (!value)
		return complain(parse, who, "a value is missing");
	return take(parse, setting, value, CONFIG_FLAG, who);
}

static int take_arguments(struct parse *parse, char *const argv[])
{
	while (*argv) {
		int error = take_argument(parse, &argv);

		if (error)
			return error;
	}
	return 0;
}

/* ------ the environment */

/* Is @variable, without its prefix, how the environment spells @name? "POOL_THREADS" */
static bool is_spelled(const char *name, const char *variable, size_t variable_bytes)
{
	if (strlen(name) != variable_bytes)
		return false;
	for (size_t i = 0; i < variable_bytes; i++) {
		if (variable[i] != (name[i] == '-' ? '_' : toupper((unsigned char)name[i])))
			return false;
	}
	return true;
}

static const struct config_setting *find_variable(const char *variable, size_t variable_bytes)
{
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		if (setting->only_with == CONFIG_SERVE &&
		    is_spelled(setting->name, variable, variable_bytes))
			return setting;
	}
	return NULL;
}

static int take_variable(struct parse *parse, const char *variable)
{
	size_t who_bytes = strcspn(variable, "=");
	size_t prefix_bytes = strlen(VARIABLE_PREFIX);
	const struct config_setting *setting;
	char who[64];

	if (variable[who_bytes] != '=')
		return 0;
	if (who_bytes >= sizeof(who))
		(void)snprintf(who, sizeof(who), "%.*s...", (int)sizeof(who) - 4, variable);
	else
		(void)snprintf(who, sizeof(who), "%.*s", (int)who_bytes, variable);
	setting = find_variable(variable + prefix_bytes, who_bytes - prefix_bytes);
	if (!setting) {
		if (parse->unknown_variables++ == 0)
			memcpy(parse->unknown_variable, who, sizeof(who));
		return 0;
	}
	if (source_of(parse, setting) == CONFIG_FLAG)
		return 0;
	return take(parse, setting, variable + who_bytes + 1, CONFIG_ENVIRONMENT, who);
}

static int take_environment(struct parse *parse, char *const environment[])
{
	for (; *environment; environment++) {
		int error = 0;

		if (strncmp(*environment, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) == 0)
			error = take_variable(parse, *environment);
		if (error)
			return error;
	}
	return 0;
}

/* ------ the file */

/* The value as a flag would have it. NULL: it is of the wrong kind, which has been told, or there
 * is no memory, and @mistake says so. */
static const char *text_of(struct parse *parse, const struct config_setting *setting,
                           const json_t *value, const struct config_mistake *mistake)
{
	const char *word = json_string_value(value), *text;
	bool is_zero_word = word && setting->zero_word && strcmp(word, setting->zero_word) == 0;

	if (setting->json == CONFIG_JSON_BOOLEAN && !json_is_boolean(value))
		(void)config_mistake(mistake, "is neither true nor false");
	else if (setting->json == CONFIG_JSON_STRING && !word)
		(void)config_mistake(mistake, "is not a string");
	else if (setting->json == CONFIG_JSON_NUMBER && !json_is_integer(value) && !is_zero_word)
		(void)config_mistake(mistake, "is not a whole number%s%s",
		                     setting->zero_word ? ", nor " : "",
		                     setting->zero_word ? setting->zero_word : "");
	else if ((text = config_file_text(parse->config.file, value)))
		return text;
	else
		(void)config_mistake(mistake, "out of memory");
	return NULL;
}

static int take_setting(struct parse *parse, const struct config_setting *setting,
                        const json_t *value, const struct config_mistake *mistake)
{
	const char *text = text_of(parse, setting, value, mistake);
	struct config overridden;

	if (!text)
		return -EINVAL;
	return take_into(source_of(parse, setting) > CONFIG_FILE ? &overridden : &parse->config,
	                 setting, text, CONFIG_FILE, mistake);
}

static int take_key(struct parse *parse, const char *key, const json_t *value, size_t index)
{
	const struct config_setting *setting = find_setting(key, strlen(key));
	struct json_way way = {NULL, index};
	struct config_mistake mistake = {key,  parse->error, parse->error_bytes, parse->config.file,
	                                 &way, false};

	if (setting && setting->only_with == CONFIG_SERVE && !setting->not_in_file)
		return take_setting(parse, setting, value, &mistake);
	if (strcmp(key, "$schema") == 0) /* for editors */
		return json_is_string(value) ? 0 : config_mistake(&mistake, "is not a string");
	if (config_is_part(key))
		return 0; /* later: it goes by what the flags say */
	mistake.is_of_key = true;
	return config_mistake(&mistake, setting ? "is for the command line alone"
	                                        : "is no setting; --help lists them");
}

static int take_file(struct parse *parse)
{
	struct config *config = &parse->config;
	const char *key;
	json_t *value;
	size_t index = 0;
	int error;

	if (!config->config_file)
		return 0;
	error = config_file_open(config->config_file, &config->file, parse->error,
	                         parse->error_bytes);
	if (error)
		return error;
	json_object_foreach(config->file->root, key, value)
	{
		error = take_key(parse, key, value, index++);
		if (error)
			return error;
	}
	return 0;
}

/* Once the flags have their values. */
static int take_parts(struct parse *parse)
{
	struct config *config = &parse->config;
	const struct config_reader reader = {config->file, config->environment, parse->error,
	                                     parse->error_bytes};

	return config->file ? config_parts_take(&reader, config) : 0;
}

/* ------ all of it */

static int take_defaults(struct parse *parse)
{
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		int error = 0;

		if (source_of(parse, setting) == CONFIG_DEFAULT && setting->default_text)
			error = take(parse, setting, setting->default_text, CONFIG_DEFAULT,
			             setting->name);
		if (error)
			return error;
	}
	return 0;
}

/* What no value shows on its own. */
static int check_together(struct parse *parse)
{
	const struct config *config = &parse->config;

	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		char who[48];

		if (setting->only_with == CONFIG_SERVE || setting->only_with == config->command ||
		    source_of(parse, setting) == CONFIG_DEFAULT)
			continue;
		(void)snprintf(who, sizeof(who), "--%s", setting->name);
		return complain(parse, who, "goes with --show-cpus only");
	}
	if (!config->upstream && config->slow_listen.host[0] == '\0' && config->upstream_count == 0)
		return complain(
			parse, "--upstream",
			"must be given when --slow-listen is off: there is nothing to call");
	return 0;
}

/* Kubernetes alone sets seven for a Service named fanoutd, so they share one warning. */
static void warn_of_unknown_variables(struct parse *parse)
{
	char *warning = parse->config.warning;
	size_t bytes = sizeof(parse->config.warning);

	if (parse->unknown_variables == 1)
		(void)snprintf(warning, bytes, "%s in the environment is no setting: ignored",
		               parse->unknown_variable);
	else if (parse->unknown_variables > 1)
		(void)snprintf(warning, bytes,
		               "%s and %u more in the environment are no settings: ignored",
		               parse->unknown_variable, parse->unknown_variables - 1);
}

/* And a file. */
static bool uses_environment(enum config_command command)
{
	return command == CONFIG_SERVE || command == CONFIG_CHECK || command == CONFIG_PRINT ||
	       command == CONFIG_HEALTHCHECK;
}

int config_parse(int argc, char *const argv[], char *const environment[], struct config *out,
                 char *error, size_t error_bytes)
{
	struct parse parse = {
		.config = {.argc = argc, .argv = argv, .environment = environment},
		.error = error,
		.error_bytes = error_bytes,
	};
	int result = argc > 0 ? take_arguments(&parse, argv + 1) : 0;

	if (!result && uses_environment(parse.config.command)) {
		result = take_environment(&parse, environment);
		if (!result)
			result = take_file(&parse);
	}
	if (!result)
		result = take_defaults(&parse);
	if (!result)
		result = take_parts(&parse);
	if (!result)
		result = check_together(&parse);
	if (result) {
		config_finish(&parse.config);
		return result;
	}
	warn_of_unknown_variables(&parse);
	*out = parse.config;
	return 0;
}

int config_parse_again(const struct config *config, struct config *out, char *error,
                       size_t error_bytes)
{
	return config_parse(config->argc, config->argv, config->environment, out, error,
	                    error_bytes);
}

void config_finish(struct config *config)
{
	config_parts_finish(config);
	config_file_close(config->file);
	config->file = NULL;
}
