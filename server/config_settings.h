#ifndef SERVER_CONFIG_SETTINGS_H
#define SERVER_CONFIG_SETTINGS_H

#include <stdint.h>

#include "server/config.h"

/*
 * The table that parsing, --help and --print-config work from. Only the
 * server/config*.c files use it.
 */

struct config_file;
struct json_way;

/** Collects what is wrong with a value of the flag, variable or key called @who. */
struct config_mistake {
	const char *who;
	char *text;
	size_t text_bytes;
	const struct config_file *file; /* that the value is in; NULL: none */
	const struct json_way *way;     /* to the value */
	bool is_of_key;                 /* what is wrong is its key */
};

/** Write "WHO: …", or "FILE:LINE:COLUMN: WHO: …", on one line, cut to size, control characters
 * replaced. Returns -EINVAL. */
int config_mistake(const struct config_mistake *mistake, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Write "NAME = VALUE (SOURCE)", a line, control characters replaced. */
void config_print_line(FILE *out, const char *name, const char *value, const char *source);

struct config_setting;

/** Put @text into @field of a struct config. Returns 0, or -EINVAL with the mistake written. */
typedef int config_taker(const struct config_setting *setting, const char *text, void *field,
                         const struct config_mistake *mistake);

/** How a configuration file writes a value. */
enum config_json {
	CONFIG_JSON_STRING,
	CONFIG_JSON_NUMBER, /* or its zero word as a string */
	CONFIG_JSON_BOOLEAN,
};

struct config_setting {
	const char *name; /* "pool-threads", without dashes */
	const char
		*placeholder; /* of the value, for --help; NULL: a switch, alone or as --name=off */
	config_taker *take;
	enum config_json json;
	size_t field_offset; /* in struct config */
	size_t field_bytes;
	const char *default_text; /* NULL: the zero value */
	const char *zero_word; /* stands for the zero value, such as "auto"; NULL: nothing does */
	const char *zero_meaning;      /* what the zero value is, if it is the default */
	uint64_t minimum, maximum;     /* numbers */
	const char *const *choices;    /* words; NULL at the end */
	enum config_command only_with; /* not CONFIG_SERVE: a flag of that command, no setting */
	bool not_in_file;
	bool is_live; /* a reload of the file changes it; others need a restart */
	const char *help;
};

struct config_command_flag {
	const char *name;
	enum config_command command;
	const char *help;
	const char *placeholder; /* of a value that may be left out; NULL: it takes none */
};

/* Both end with a NULL name. */
extern const struct config_setting config_settings[];
extern const struct config_command_flag config_commands[];

#endif
