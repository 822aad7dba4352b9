#include "executors/cgroup_location.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls @take with each line of a file until it returns non-zero, which is then the result. */
typedef int line_taker(char *line, void *argument);

static int for_each_line(const char *root, const char *name, line_taker *take, void *argument)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s%s", root, name);
	char *line = NULL;
	size_t line_bytes = 0;
	ssize_t got = 0;
	int result = 0;
	FILE *file;

	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (result == 0 && (got = getline(&line, &line_bytes, file)) >= 0) {
		if (got > 0 && line[got - 1] == '\n')
			line[got - 1] = '\0';
		result = take(line, argument);
	}
	if (result == 0 && !feof(file))
		result = errno ? -errno : -EIO;
	free(line);
	(void)fclose(file);
	return result;
}

static bool list_contains(const char *list, const char *word)
{
	size_t word_bytes = strlen(word);

	for (;;) {
		size_t bytes = strcspn(list, ",");

		if (bytes == word_bytes && memcmp(list, word, bytes) == 0)
			return true;
		if (list[bytes] == '\0')
			return false;
		list += bytes + 1;
	}
}

static bool climbs_out(const char *path)
{
	while (*path) {
		size_t bytes;

		path += strspn(path, "/");
		bytes = strcspn(path, "/");
		if (bytes == 2 && memcmp(path, "..", 2) == 0)
			return true;
		path += bytes;
	}
	return false;
}

struct membership_search {
	const char *controller;
	struct cgroup_membership found;
};

/* "4:cpu,cpuacct:/docker/1", "0::/docker/1"; the name of the group may itself contain colons. */
static int take_membership(char *line, void *argument)
{
	struct membership_search *search = argument;
	struct cgroup_membership *membership = &search->found;
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	size_t group_bytes;
	int version;

	if (!group)
		return 0;
	*controllers++ = '\0';
	*group++ = '\0';
	if (list_contains(controllers, search->controller))
		version = 1;
	else if (strcmp(line, "0") == 0 && controllers[0] == '\0' && membership->version == 0)
		version = 2;
	else
		return 0;
	group_bytes = strlen(group) + 1;
	if (group_bytes > sizeof(membership->group))
		return -ENAMETOOLONG;
	membership->version = version;
	memcpy(membership->group, group, group_bytes);
	return 0;
}

int cgroup_membership_read(const char *root, const char *controller, struct cgroup_membership *out)
{
	struct membership_search search = {.controller = controller};
	int error = for_each_line(root, "/proc/self/cgroup", take_membership, &search);

	if (!error)
		*out = search.found;
	return error;
}

/* The fields of a line of mountinfo that matter here. */
struct mount {
	char *root; /* what of the hierarchy is mounted; "" for all of it */
	char *point;
	char *type;
	char *options; /* of the super block: for version 1 its controllers */
};

/* Spaces, tabs, newlines and backslashes are written as three octal digits. In place. */
static void decode_octal(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static void strip_trailing_slash(char *path)
{
	size_t bytes = strlen(path);

	if (bytes > 0 && path[bytes - 1] == '/')
		path[bytes - 1] = '\0';
}

/* "36 35 98:0 /root /point rw shared:1 … - type source options": any number of fields before "-".
 */
static bool parse_mount(char *line, struct mount *out)
{
	char *rest = strstr(line, " - ");
	char *before[5]; /* id, parent, device, root, point */

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	for (int i = 0; i < 5; i++)
		before[i] = strsep(&line, " ");
	out->root = before[3];
	out->point = before[4];
	out->type = strsep(&rest, " ");
	(void)strsep(&rest, " ");
	out->options = rest;
	if (!out->point || !out->options)
		return false;
	decode_octal(out->root);
	decode_octal(out->point);
	strip_trailing_slash(out->root);
	strip_trailing_slash(out->point);
	return true;
}

static bool mounts(const struct mount *mount, int version, const char *controller)
{
	if (version == 2)
		return strcmp(mount->type, "cgroup2") == 0;
	return strcmp(mount->type, "cgroup") == 0 && list_contains(mount->options, controller);
}

/* The part of @group below @ancestor: "" or "/…"; NULL if it is not below. */
static const char *below(const char *group, const char *ancestor)
{
	size_t bytes = strlen(ancestor);

	if (strncmp(group, ancestor, bytes) != 0 || (group[bytes] != '\0' && group[bytes] != '/'))
		return NULL;
	return strcmp(group + bytes, "/") == 0 ? "" : group + bytes;
}

struct search {
	const char *root, *controller;
	const struct cgroup_membership *membership;
	struct cgroup_location *best;
	struct cgroup_location candidate;
	int best_score;       /* 0: nothing found yet */
	size_t best_root_len; /* the shorter a mount's root, the more ancestors it shows */
};

/* A mount may be covered by a later one, so a directory that is there counts most. */
static int score(const struct cgroup_location *candidate)
{
	return 1 + 2 * (access(candidate->path, F_OK) == 0) + !candidate->is_mount_point_only;
}

static bool is_better(const struct search *search, int candidate_score, size_t root_len)
{
	const struct cgroup_location *best = search->best, *candidate = &search->candidate;

	if (candidate_score != search->best_score)
		return candidate_score > search->best_score;
	if (candidate->mount_point_bytes == best->mount_point_bytes &&
	    memcmp(candidate->path, best->path, best->mount_point_bytes) == 0)
		return true; /* on the same mount point the later one is on top */
	return root_len < search->best_root_len;
}

static int take_mount(char *line, void *argument)
{
	struct search *search = argument;
	struct cgroup_location *candidate = &search->candidate;
	const char *group = search->membership->group;
	const char *directory;
	struct mount mount;
	int length, candidate_score;

	if (!parse_mount(line, &mount) ||
	    !mounts(&mount, search->membership->version, search->controller))
		return 0;
	candidate->is_mount_point_only = climbs_out(group) || climbs_out(mount.root);
	directory = candidate->is_mount_point_only ? "" : below(group, mount.root);
	if (!directory)
		return 0;
	length = snprintf(candidate->path, sizeof(candidate->path), "%s%s%s", search->root,
	                  mount.point, directory);
	if (length < 0 || (size_t)length >= sizeof(candidate->path))
		return -ENAMETOOLONG;
	candidate->mount_point_bytes = (size_t)length - strlen(directory);
	candidate_score = score(candidate);
	if (is_better(search, candidate_score, strlen(mount.root))) {
		*search->best = *candidate;
		search->best_score = candidate_score;
		search->best_root_len = strlen(mount.root);
	}
	return 0;
}

int cgroup_locate(const char *root, const char *controller,
                  const struct cgroup_membership *membership, struct cgroup_location *out)
{
	struct search search = {
		.root = root,
		.controller = controller,
		.membership = membership,
		.best = out,
	};
	int error;

	out->path[0] = '\0';
	out->mount_point_bytes = 0;
	error = for_each_line(root, "/proc/self/mountinfo", take_mount, &search);
	if (error)
		return error;
	return search.best_score > 0;
}
