#include "executors/cgroup_file.h"

#include <errno.h>
#include <string.h>

#include "executors/decimal.h"
#include "executors/text_file.h"

int cgroup_file_read_limit(int directory_fd, const char *name, char text[CGROUP_LIMIT_BYTES])
{
	ssize_t length = text_file_read(directory_fd, name, text, CGROUP_LIMIT_BYTES);

	if (length < 0)
		return length == -EFBIG ? -EINVAL : (int)length;
	return 0;
}

bool cgroup_file_take_number(const char **cursor, uint64_t *out)
{
	size_t length = strspn(*cursor, "0123456789");

	if (!decimal_read(*cursor, length, out))
		return false;
	*cursor += length;
	return true;
}

bool cgroup_file_take_word(const char **cursor, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*cursor, word, length) != 0)
		return false;
	*cursor += length;
	return true;
}

bool cgroup_file_at_end(const char *cursor)
{
	return strcmp(cursor, "") == 0 || strcmp(cursor, "\n") == 0;
}

int cgroup_file_read_number(int directory_fd, const char *name, uint64_t *out)
{
	char text[CGROUP_LIMIT_BYTES] = "";
	const char *cursor = text;
	uint64_t number;
	bool negative;
	int error = cgroup_file_read_limit(directory_fd, name, text);

	if (error)
		return error;
	negative = cgroup_file_take_word(&cursor, "-");
	if (!cgroup_file_take_number(&cursor, &number) || !cgroup_file_at_end(cursor))
		return -EINVAL;
	*out = negative ? 0 : number;
	return 0;
}

uint64_t cgroup_file_stat(const char *text, const char *name)
{
	uint64_t number = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (cgroup_file_take_word(&line, name) && cgroup_file_take_number(&line, &number))
			return number;
	}
	return 0;
}
