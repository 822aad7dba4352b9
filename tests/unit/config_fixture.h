#ifndef TESTS_UNIT_CONFIG_FIXTURE_H
#define TESTS_UNIT_CONFIG_FIXTURE_H

#include <stddef.h>

#include "server/config.h"

/* Configurations from a file, which is gone with the process. One at a time; all of it is borrowed
 * until the next one. */

#define NO_ENVIRONMENT ((char *[]){NULL})

extern char config_error[CONFIG_ERROR_BYTES]; /* of the last parse */
extern char config_path[32];                  /* of the file that was written last */

/** The @bytes of @text are the file from now on. */
void config_write(const char *text, size_t bytes);

/** config_parse() with that file and, unless it is NULL, @flag. */
int config_parse_file(char *flag, char **environment, struct config *config);

/** The file is @text, and right. */
void config_take(const char *text, char *flag, char **environment, struct config *config);

/** The file is @text, and refused with one line: its path and @rest. */
void config_refuse_bytes(const char *text, size_t bytes, const char *rest);
void config_refuse(const char *text, const char *rest);

#endif
