#include "executors/cgroup_bandwidth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "executors/decimal.h"

enum {
	DEFAULT_PERIOD_US = 100000, /* the kernel's, and what a lone quota in cpu.max means */
	LIMIT_FILE_BYTES = 128,     /* two numbers of 64 bits and more */
	STAT_FILE_BYTES = 4096,
};

/* The whole file as a string. -EFBIG it does not fit, which no kernel file of this kind does. */
static int read_text(int directory_fd, const char *name, char *text, size_t text_bytes)
{
	int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;
	int error;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, text + used, text_bytes - used);
		if (got > 0)
			used += (size_t)got;
	} while (used < text_bytes && (got > 0 || (got < 0 && errno == EINTR)));
	error = got < 0 ? -errno : 0;
	close(fd);
	if (error)
		return error;
	if (used == text_bytes)
		return -EFBIG;
	text[used] = '\0';
	return 0;
}

/* Like read_text() for the small files, where too long is malformed. */
static int read_limit_text(int directory_fd, const char *name, char text[LIMIT_FILE_BYTES])
{
	int error = read_text(directory_fd, name, text, LIMIT_FILE_BYTES);

	return error == -EFBIG ? -EINVAL : error;
}

static bool take_number(const char **cursor, uint64_t *out)
{
	size_t length = strspn(*cursor, "0123456789");

	if (!decimal_read(*cursor, length, out))
		return false;
	*cursor += length;
	return true;
}

static bool take_word(const char **cursor, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*cursor, word, length) != 0)
		return false;
	*cursor += length;
	return true;
}

static bool at_line_end(const char *cursor)
{
	return strcmp(cursor, "") == 0 || strcmp(cursor, "\n") == 0;
}

/* "max 100000", "150000 100000"; the period may be missing. */
static int read_version_2(int directory_fd, struct cgroup_bandwidth *out)
{
	struct cgroup_bandwidth read = {.quota_us = 0, .period_us = DEFAULT_PERIOD_US};
	char text[LIMIT_FILE_BYTES] = "";
	const char *cursor = text;
	int error = read_limit_text(directory_fd, "cpu.max", text);

	if (error)
		return error;
	if (!take_word(&cursor, "max") &&
	    (!take_number(&cursor, &read.quota_us) || read.quota_us == 0))
		return -EINVAL;
	if (take_word(&cursor, " ") &&
	    (!take_number(&cursor, &read.period_us) || read.period_us == 0))
		return -EINVAL;
	if (!at_line_end(cursor))
		return -EINVAL;
	*out = read;
	return 0;
}

/* One number; -1 (any negative one) reads as 0, as does a group without limit. */
static int read_version_1_number(int directory_fd, const char *name, uint64_t *out)
{
	char text[LIMIT_FILE_BYTES] = "";
	const char *cursor = text;
	uint64_t number;
	bool negative;
	int error = read_limit_text(directory_fd, name, text);

	if (error)
		return error;
	negative = take_word(&cursor, "-");
	if (!take_number(&cursor, &number) || !at_line_end(cursor))
		return -EINVAL;
	*out = negative ? 0 : number;
	return 0;
}

static int read_version_1(int directory_fd, struct cgroup_bandwidth *out)
{
	struct cgroup_bandwidth read = {.period_us = DEFAULT_PERIOD_US};
	int error = read_version_1_number(directory_fd, "cpu.cfs_quota_us", &read.quota_us);

	if (error)
		return error;
	error = read_version_1_number(directory_fd, "cpu.cfs_period_us", &read.period_us);
	if (error && error != -ENOENT)
		return error;
	/* Some sandboxes show a period of 0 for a group without bandwidth control. */
	if (read.period_us == 0)
		read = (struct cgroup_bandwidth){.quota_us = 0, .period_us = DEFAULT_PERIOD_US};
	*out = read;
	return 0;
}

int cgroup_bandwidth_read(int directory_fd, int version, struct cgroup_bandwidth *out)
{
	int error = version == 1 ? read_version_1(directory_fd, out)
	                         : read_version_2(directory_fd, out);

	if (error == -ENOENT) {
		*out = (struct cgroup_bandwidth){.quota_us = 0, .period_us = DEFAULT_PERIOD_US};
		return 0;
	}
	return error;
}

/* The number behind @name, a word at the start of a line that ends in a space; 0 if none. */
static uint64_t stat_number(const char *text, const char *name)
{
	uint64_t number = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (take_word(&line, name) && take_number(&line, &number))
			return number;
	}
	return 0;
}

int cgroup_throttling_read(int directory_fd, int version, struct cgroup_throttling *out)
{
	char text[STAT_FILE_BYTES] = "";
	int error = read_text(directory_fd, "cpu.stat", text, sizeof(text));

	if (error)
		return error;
	*out = (struct cgroup_throttling){
		.periods = stat_number(text, "nr_periods "),
		.throttled_periods = stat_number(text, "nr_throttled "),
		.throttled_ns = version == 1 ? stat_number(text, "throttled_time ")
	                                     : stat_number(text, "throttled_usec ") * 1000,
	};
	return 0;
}
