#include "server/config_values.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "executors/decimal.h"
#include "server/config_file.h"
#include "server/upstream_url.h"

int config_mistake(const struct config_mistake *mistake, const char *format, ...)
{
	char place[CONFIG_PLACE_BYTES] = "";
	va_list arguments;
	int used;

	if (mistake->file)
		config_file_print_place(mistake->file, mistake->way, mistake->is_of_key, place,
		                        sizeof(place));
	used = snprintf(mistake->text, mistake->text_bytes, "%s%s%s: ", place,
	                mistake->file ? ": " : "", mistake->who);

	if (used >= 0 && (size_t)used < mistake->text_bytes) {
		va_start(arguments, format);
		(void)vsnprintf(mistake->text + used, mistake->text_bytes - (size_t)used, format,
		                arguments);
		va_end(arguments);
	}
	/* What a user typed may hold anything, and a log line is one line. */
	for (char *c = mistake->text; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	return -EINVAL;
}

static int take_number(const struct config_setting *setting, const char *text, uint64_t *out,
                       const struct config_mistake *mistake)
{
	uint64_t number;

	if (!decimal_read(text, strlen(text), &number) || number < setting->minimum ||
	    number > setting->maximum)
		return config_mistake(mistake, "'%.100s' is not a number from %ju to %ju%s%s", text,
		                      (uintmax_t)setting->minimum, (uintmax_t)setting->maximum,
		                      setting->zero_word ? ", nor " : "",
		                      setting->zero_word ? setting->zero_word : "");
	*out = number;
	return 0;
}

int config_take_count(const struct config_setting *setting, const char *text, void *field,
                      const struct config_mistake *mistake)
{
	uint64_t number = 0;
	int error = take_number(setting, text, &number, mistake);

	if (!error)
		*(unsigned *)field = (unsigned)number;
	return error;
}

int config_take_bytes(const struct config_setting *setting, const char *text, void *field,
                      const struct config_mistake *mistake)
{
	uint64_t number = 0;
	int error = take_number(setting, text, &number, mistake);

	if (!error)
		*(size_t *)field = (size_t)number;
	return error;
}

int config_take_switch(const struct config_setting *setting, const char *text, void *field,
                       const struct config_mistake *mistake)
{
	static const char *const words[] = {"off", "on", "false", "true", "0", "1"};

	(void)setting;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*(bool *)field = i % 2 == 1;
			return 0;
		}
	}
	return config_mistake(mistake, "'%.100s' is not one of on, off, true, false, 1, 0", text);
}

/* "coroutine, pool, thread". Cut short if it does not fit: it is for people. */
static void list_choices(const struct config_setting *setting, char *list, size_t list_bytes)
{
	size_t used = 0;

	list[0] = '\0';
	for (const char *const *choice = setting->choices; *choice && used < list_bytes; choice++) {
		int length =
			snprintf(list + used, list_bytes - used, "%s%s", used ? ", " : "", *choice);

		used += length > 0 ? (size_t)length : 0;
	}
}

/* The position of @text among the choices, or -EINVAL. */
static int find_choice(const struct config_setting *setting, const char *text,
                       const struct config_mistake *mistake)
{
	char list[128];

	for (int i = 0; setting->choices[i]; i++) {
		if (strcmp(text, setting->choices[i]) == 0)
			return i;
	}
	list_choices(setting, list, sizeof(list));
	return config_mistake(mistake, "'%.100s' is not one of %s", text, list);
}

int config_take_word(const struct config_setting *setting, const char *text, void *field,
                     const struct config_mistake *mistake)
{
	int choice = find_choice(setting, text, mistake);

	if (choice < 0)
		return choice;
	*(const char **)field = setting->choices[choice];
	return 0;
}

int config_take_choice(const struct config_setting *setting, const char *text, void *field,
                       const struct config_mistake *mistake)
{
	int choice = find_choice(setting, text, mistake);

	if (choice < 0)
		return choice;
	_Static_assert(sizeof(enum when_full) == sizeof(unsigned), "enums are unsigned ints");
	*(unsigned *)field = (unsigned)choice;
	return 0;
}

int config_take_address(const struct config_setting *setting, const char *text, void *field,
                        const struct config_mistake *mistake)
{
	if (listen_address_parse(text, field) == 0)
		return 0;
	return config_mistake(mistake,
	                      "'%.100s' is not HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080%s%s",
	                      text, setting->zero_word && setting->zero_word[0] ? ", nor " : "",
	                      setting->zero_word ? setting->zero_word : "");
}

int config_take_url(const struct config_setting *setting, const char *text, void *field,
                    const struct config_mistake *mistake)
{
	const char *reason = NULL;

	(void)setting;
	if (upstream_url_check(text, &reason) < 0)
		return config_mistake(mistake, "'%.100s' is not a URL to call: %s", text, reason);
	*(const char **)field = text;
	return 0;
}

int config_take_text(const struct config_setting *setting, const char *text, void *field,
                     const struct config_mistake *mistake)
{
	(void)setting;
	(void)mistake;
	*(const char **)field = text;
	return 0;
}
