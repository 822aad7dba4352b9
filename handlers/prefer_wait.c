#include "handlers/prefer_wait.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "executors/decimal.h"

#define BLANKS " \t"

/* From a preference to the next: over quoted strings, which may hold a comma. */
static const char *skip_preference(const char *at)
{
	bool is_quoted = false;

	for (; *at && (is_quoted || *at != ','); at++) {
		if (*at == '"')
			is_quoted = !is_quoted;
		else if (*at == '\\' && is_quoted && at[1])
			at++;
	}
	return *at ? at + 1 : at;
}

/* The value of `wait`, NULL if @at is another preference. It may stand in quotes. */
static const char *find_value(const char *at, size_t *length)
{
	at += strspn(at, BLANKS);
	if (strncasecmp(at, "wait", 4) != 0)
		return NULL;
	at += 4 + strspn(at + 4, BLANKS);
	if (*at != '=')
		return NULL;
	at += 1 + strspn(at + 1, BLANKS);
	if (*at == '"') {
		*length = strcspn(++at, "\"");
		return at[*length] == '"' ? at : NULL;
	}
	*length = strcspn(at, BLANKS ",;");
	return at;
}

bool prefer_wait_read(const char *prefer, uint64_t *seconds)
{
	for (const char *at = prefer ? prefer : ""; *at; at = skip_preference(at)) {
		uint64_t number;
		size_t length;
		const char *value = find_value(at, &length);

		if (!value)
			continue;
		/* The first one counts: RFC 7240, 2. */
		if (!decimal_read(value, length, &number))
			return false;
		*seconds = number < UINT32_MAX ? number : UINT32_MAX;
		return true;
	}
	return false;
}
