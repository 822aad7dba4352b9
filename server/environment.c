#include "server/environment.h"

#include <stddef.h>
#include <string.h>

const char *environment_find(char *const environment[], const char *name)
{
	size_t name_len = strlen(name);

	for (; *environment != NULL; environment++) {
		if (strncmp(*environment, name, name_len) == 0 && (*environment)[name_len] == '=')
			return *environment + name_len + 1;
	}
	return NULL;
}
