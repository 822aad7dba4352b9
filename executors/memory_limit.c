#include "executors/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executors/cgroup_file.h"
#include "executors/cgroup_location.h"
#include "executors/text_file.h"

/* Version 1 says that there is no limit by the largest multiple of a page. */
#define NO_LIMIT_BYTES (UINT64_C(1) << 62)

struct memory_limit_reader {
	char root[PATH_MAX];
	size_t root_bytes;
	struct cgroup_membership membership;
	struct cgroup_location location; /* an empty path: no directory, so no limit */
	struct memory_limit last;
};

/* The names of the files, and in memory.stat those of a whole subtree. */
static const struct names {
	const char *limit, *usage, *inactive_file, *active_file;
} names_of_version[] = {
	[1] = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
               "total_active_file "},
	[2] = {"memory.max", "memory.current", "inactive_file ", "active_file "},
};

int memory_limit_reader_create(const char *root, struct memory_limit_reader **out)
{
	size_t root_bytes = strlen(root);
	struct memory_limit_reader *reader;

	if (root_bytes >= sizeof(reader->root))
		return -ENAMETOOLONG;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	memcpy(reader->root, root, root_bytes + 1);
	reader->root_bytes = root_bytes;
	reader->last.limit_bytes = UINT64_MAX;
	*out = reader;
	return 0;
}

void memory_limit_reader_destroy(struct memory_limit_reader *reader)
{
	free(reader);
}

/* Mounts hardly ever change, and a list of thousands is not read every second. */
static int find_place(struct memory_limit_reader *reader)
{
	struct cgroup_membership now;
	int result = cgroup_membership_read(reader->root, "memory", &now);

	if (result)
		return result;
	if (now.version == reader->membership.version &&
	    strcmp(now.group, reader->membership.group) == 0 &&
	    access(reader->location.path, F_OK) == 0)
		return 0;
	if (now.version > 0) {
		result = cgroup_locate(reader->root, "memory", &now, &reader->location);
		if (result < 0)
			return result;
	}
	if (result == 0)
		reader->location.path[0] = '\0';
	reader->membership = now;
	return 0;
}

/* "max" or a number; a file that is missing (the controller is not delegated) limits nothing. */
static int read_limit(int directory_fd, const char *name, uint64_t *out)
{
	char text[CGROUP_LIMIT_BYTES] = "";
	const char *cursor = text;
	int error = cgroup_file_read_limit(directory_fd, name, text);

	*out = UINT64_MAX;
	if (error)
		return error == -ENOENT ? 0 : error;
	if (cgroup_file_take_word(&cursor, "max"))
		return cgroup_file_at_end(cursor) ? 0 : -EINVAL;
	if (!cgroup_file_take_number(&cursor, out) || !cgroup_file_at_end(cursor))
		return -EINVAL;
	if (*out >= NO_LIMIT_BYTES)
		*out = UINT64_MAX;
	return 0;
}

/* What of the group's memory cannot be got back by dropping files. */
static int read_used(int directory_fd, const struct names *names, struct memory_limit *out)
{
	char text[CGROUP_STAT_BYTES] = "";
	uint64_t usage;
	int error = cgroup_file_read_number(directory_fd, names->usage, &usage);
	ssize_t length;

	if (error)
		return error;
	length = text_file_read(directory_fd, "memory.stat", text, sizeof(text));
	if (length < 0)
		return (int)length;
	out->file_bytes = cgroup_file_stat(text, names->inactive_file) +
	                  cgroup_file_stat(text, names->active_file);
	out->used_bytes = usage > out->file_bytes ? usage - out->file_bytes : 0;
	return 0;
}

/* Take the limit of the group at @path if it is less. */
static int read_group(const char *path, const struct names *names, size_t root_bytes,
                      struct memory_limit *limit)
{
	int directory_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t limit_bytes;
	int error;

	if (directory_fd < 0)
		return -errno;
	error = read_limit(directory_fd, names->limit, &limit_bytes);
	if (!error && limit_bytes < limit->limit_bytes)
		error = read_used(directory_fd, names, limit);
	close(directory_fd);
	if (error || limit_bytes >= limit->limit_bytes)
		return error;
	limit->limit_bytes = limit_bytes;
	memcpy(limit->limited_by, path + root_bytes, strlen(path + root_bytes) + 1);
	return 0;
}

/* From the group up to the mount point. */
static int read_groups(const struct memory_limit_reader *reader, struct memory_limit *out)
{
	const struct cgroup_location *location = &reader->location;
	const struct names *names = &names_of_version[reader->membership.version];
	char path[PATH_MAX];

	*out = (struct memory_limit){.limit_bytes = UINT64_MAX};
	memcpy(path, location->path, sizeof(path));
	if (path[0] != '\0')
		out->cgroup = reader->membership.version;
	while (path[0] != '\0') {
		int error = read_group(path, names, reader->root_bytes, out);

		if (error)
			return error;
		if (strlen(path) <= location->mount_point_bytes)
			break;
		*strrchr(path, '/') = '\0';
	}
	return 0;
}

int memory_limit_read(struct memory_limit_reader *reader, struct memory_limit *out)
{
	struct memory_limit now;
	int error = find_place(reader);

	if (!error)
		error = read_groups(reader, &now);
	if (!error)
		reader->last = now;
	*out = reader->last;
	return error;
}

int memory_limit_open_usage(const struct memory_limit_reader *reader)
{
	const struct names *names = &names_of_version[reader->membership.version];
	char path[2 * PATH_MAX];
	int length, fd;

	if (reader->last.limited_by[0] == '\0')
		return -ENOENT;
	length = snprintf(path, sizeof(path), "%s%s/%s", reader->root, reader->last.limited_by,
	                  names->usage);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}
