#ifndef SERVER_CONFIG_FILE_H
#define SERVER_CONFIG_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/json_place.h"

/*
 * A configuration file: an object in JSON, its text, and what is made of it. Whatever is wrong
 * in it is told with its line and column. Only the server/config*.c files use it.
 */
struct config_file {
	const char *path; /* borrowed */
	char *text;       /* owned, as are those below; NUL-terminated */
	json_t *root;     /* an object */
	json_t *texts;    /* the values that are no strings, as texts */
};

enum { CONFIG_FILE_MAX_BYTES = 1 << 20 }; /* longest file that is read */

/**
 * Read the file @path, which is borrowed. Returns 0, and *@out is the caller's for
 * config_file_close(); -EINVAL with "PATH:LINE:COLUMN: …" in @error, or "PATH: …" if it cannot be
 * read. Cut to size; a long path is cut first.
 */
int config_file_open(const char *path, struct config_file **out, char *error, size_t error_bytes);

/** As config_file_open(), of the @bytes of @text, which are consumed, with room for a NUL behind
 * them. */
int config_file_parse(const char *path, char *text, size_t bytes, struct config_file **out,
                      char *error, size_t error_bytes);

/** Write "PATH:LINE:COLUMN", where the value at @way is, or its key. Cut to size as above. */
void config_file_print_place(const struct config_file *file, const struct json_way *way,
                             bool of_key, char *out, size_t out_bytes);

/** NULL is ignored. What borrows from it is not used any more. */
void config_file_close(struct config_file *file);

/** @value as a text, borrowed from @file: a string's own, else its JSON. NULL: no memory. */
const char *config_file_text(struct config_file *file, const json_t *value);

#endif
