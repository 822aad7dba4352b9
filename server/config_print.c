#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/config.h"
#include "server/config_settings.h"
#include "server/config_upstreams.h"

/* The value of a setting for people: as written, or what its zero value means. */
static const char *shown(const struct config_setting *setting, const char *text)
{
	if (text && text[0] != '\0')
		return text;
	return setting->zero_meaning ? setting->zero_meaning : "";
}

static void print_text(FILE *out, const char *text)
{
	for (; *text; text++)
		(void)fputc(iscntrl((unsigned char)*text) ? '?' : *text, out);
}

void config_print_line(FILE *out, const char *name, const char *value, const char *source)
{
	print_text(out, name);
	(void)fputs(" = ", out);
	print_text(out, value);
	(void)fputs(" (", out);
	print_text(out, source);
	(void)fputs(")\n", out);
}

int config_print(const struct config *config, FILE *out)
{
	static const char *const sources[] = {
		[CONFIG_DEFAULT] = "default",
		[CONFIG_FILE] = "file",
		[CONFIG_ENVIRONMENT] = "environment",
		[CONFIG_FLAG] = "flag",
	};

	for (size_t i = 0; config_settings[i].name; i++) {
		if (config_settings[i].only_with != CONFIG_SERVE)
			continue;
		config_print_line(out, config_settings[i].name,
		                  shown(&config_settings[i], config->origins[i].text),
		                  sources[config->origins[i].source]);
	}
	config_parts_print(config, out);
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}

static void print_flag(FILE *out, const char *name, const char *placeholder, const char *or_word)
{
	char flag[64];

	(void)snprintf(flag, sizeof(flag), "--%s%s%s%s%s", name, placeholder ? " " : "",
	               placeholder ? placeholder : "", or_word[0] ? "|" : "", or_word);
	(void)fprintf(out, "  %-36s", flag);
}

static void print_setting(FILE *out, const struct config_setting *setting)
{
	const char *by_default = shown(setting, setting->default_text);

	print_flag(out, setting->name, setting->placeholder,
	           setting->zero_word ? setting->zero_word : "");
	(void)fprintf(out, "%s", setting->help);
	for (size_t i = 0; setting->choices && setting->choices[i]; i++)
		(void)fprintf(out, "%s %s", i ? "," : ":", setting->choices[i]);
	if (setting->placeholder && by_default[0] != '\0')
		(void)fprintf(out, " (default: %s)", by_default);
	(void)fputc('\n', out);
}

int config_print_help(FILE *out)
{
	(void)fputs(
		"Usage: fanoutd [FLAG]...\n"
		"\n"
		"Answers GET /fanout?n=1000 by making n HTTP calls at once, as blocking code on\n"
		"coroutines, a thread pool or a thread per call.\n"
		"\n"
		"Each of these may also be --flag=VALUE, FANOUTD_FLAG in the environment, or\n"
		"\"flag\": VALUE in the file of --config. The first of these counts:\n",
		out);
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		if (setting->only_with == CONFIG_SERVE)
			print_setting(out, setting);
	}
	(void)fputs("\nInstead of serving:\n", out);
	for (const struct config_command_flag *flag = config_commands; flag->name; flag++) {
		print_flag(out, flag->name, flag->placeholder, "");
		(void)fprintf(out, "%s\n", flag->help);
	}
	(void)fputs("\nWith --show-cpus:\n", out);
	for (const struct config_setting *setting = config_settings; setting->name; setting++) {
		if (setting->only_with == CONFIG_SHOW_CPUS)
			print_setting(out, setting);
	}
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}

/* Flags and variables stay as they are while a server runs: it is the file's texts that differ. */
static bool is_same(const struct config *before, const struct config *after, size_t setting)
{
	const char *one = before->origins[setting].text, *other = after->origins[setting].text;

	return one == other || (one && other && strcmp(one, other) == 0);
}

void config_list_restarts(const struct config *before, const struct config *after, char *out,
                          size_t out_bytes)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; config_settings[i].name && used < out_bytes; i++) {
		int length = 0;

		if (!config_settings[i].is_live && !is_same(before, after, i))
			length = snprintf(out + used, out_bytes - used, "%s%s", used ? " " : "",
			                  config_settings[i].name);
		used += length > 0 ? (size_t)length : 0;
	}
}
