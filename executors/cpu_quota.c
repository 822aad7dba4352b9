#include "executors/cpu_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executors/cgroup_location.h"
#include "executors/cpu_affinity.h"

__extension__ typedef unsigned __int128 uint128;

enum trouble {
	TROUBLE_PROC,
	TROUBLE_NO_MOUNT,
	TROUBLE_OUT_OF_SIGHT,
	TROUBLE_GONE,
	TROUBLE_UNREADABLE,
	TROUBLE_NOT_UNDERSTOOD,
};

/* Each follows the path it is about. */
static const char *const warnings[] = {
	[TROUBLE_PROC] = "cannot be read, so no change of the CPU quota is seen",
	[TROUBLE_NO_MOUNT] = "has no mount of this process's cgroup, so no CPU quota is known",
	[TROUBLE_OUT_OF_SIGHT] = "is all that is in sight of this process's cgroup, so its own "
				 "CPU quota is not known",
	[TROUBLE_GONE] = "is this process's cgroup but does not exist, so no change of its CPU "
			 "quota is seen",
	[TROUBLE_UNREADABLE] = "has files that fail to be read, so no change of the CPU quota is "
			       "seen",
	[TROUBLE_NOT_UNDERSTOOD] = "has a CPU quota that is not understood, taken as none",
};

struct place {
	struct cgroup_membership membership;
	struct cgroup_location location; /* an empty path: no directory, so no limit */
};

/* The tightest limit on the way up. */
struct limit {
	struct cgroup_bandwidth bandwidth;
	struct cgroup_throttling throttling;
	size_t path_bytes; /* of the group's directory, a prefix of the location's path */
};

struct cpu_quota_reader {
	char root[PATH_MAX];
	size_t root_bytes;
	unsigned affinity_cpus; /* 0: ask the kernel */

	/* What the last successful read found. */
	bool has_read;
	struct place place;
	struct limit limit;

	unsigned reported;   /* a bit for each trouble the caller has heard of */
	const char *warning; /* of this read */
	char warning_path[PATH_MAX];
};

int cpu_quota_reader_create(const char *root, unsigned affinity_cpus, struct cpu_quota_reader **out)
{
	size_t root_bytes = strlen(root);
	struct cpu_quota_reader *reader;

	if (root_bytes >= sizeof(reader->root))
		return -ENAMETOOLONG;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	memcpy(reader->root, root, root_bytes + 1);
	reader->root_bytes = root_bytes;
	reader->affinity_cpus = affinity_cpus;
	*out = reader;
	return 0;
}

void cpu_quota_reader_destroy(struct cpu_quota_reader *reader)
{
	free(reader);
}

/* One warning a read: another trouble of the same read is left to the next one. */
static void report(struct cpu_quota_reader *reader, enum trouble trouble, const char *path)
{
	size_t path_bytes = strlen(path);

	if (reader->warning || (reader->reported & 1U << trouble) != 0)
		return;
	if (path_bytes >= sizeof(reader->warning_path))
		path_bytes = sizeof(reader->warning_path) - 1;
	reader->reported |= 1U << trouble;
	reader->warning = warnings[trouble];
	memcpy(reader->warning_path, path, path_bytes);
	reader->warning_path[path_bytes] = '\0';
}

static bool is_same(const struct cgroup_membership *a, const struct cgroup_membership *b)
{
	return a->version == b->version && strcmp(a->group, b->group) == 0;
}

/* Returns 0, or a negative errno: the last value stands. */
static int find_place(struct cpu_quota_reader *reader, struct place *out)
{
	int result = cgroup_membership_read(reader->root, "cpu", &out->membership);

	if (result) {
		report(reader, TROUBLE_PROC, "/proc/self/cgroup");
		return result;
	}
	/* Mounts hardly ever change, and a list of thousands is not read every second. */
	if (is_same(&out->membership, &reader->place.membership) &&
	    access(reader->place.location.path, F_OK) == 0) {
		out->location = reader->place.location;
		return 0;
	}
	out->location.path[0] = '\0';
	if (out->membership.version == 0)
		return 0;
	result = cgroup_locate(reader->root, "cpu", &out->membership, &out->location);
	if (result < 0) {
		report(reader, TROUBLE_PROC, "/proc/self/mountinfo");
	} else if (result == 0) {
		out->location.path[0] = '\0';
		report(reader, TROUBLE_NO_MOUNT, "/proc/self/mountinfo");
	} else if (out->location.is_mount_point_only) {
		report(reader, TROUBLE_OUT_OF_SIGHT, out->location.path + reader->root_bytes);
	}
	return result < 0 ? result : 0;
}

static bool is_tighter(const struct cgroup_bandwidth *a, const struct cgroup_bandwidth *b)
{
	if (a->quota_us == 0 || b->quota_us == 0)
		return a->quota_us != 0;
	return (uint128)a->quota_us * b->period_us < (uint128)b->quota_us * a->period_us;
}

/* Take the limit of the group at @path if it is tighter. -EINVAL, -EACCES: this one is unknown. */
static int read_group(const char *path, int version, struct limit *limit)
{
	int directory_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_bandwidth bandwidth;
	int error;

	if (directory_fd < 0)
		return -errno;
	error = cgroup_bandwidth_read(directory_fd, version, &bandwidth);
	if (!error && is_tighter(&bandwidth, &limit->bandwidth)) {
		limit->bandwidth = bandwidth;
		limit->path_bytes = strlen(path);
		limit->throttling = (struct cgroup_throttling){0};
		/* Statistics alone: without them the limit still counts. */
		(void)cgroup_throttling_read(directory_fd, version, &limit->throttling);
	}
	close(directory_fd);
	return error;
}

/* From the group up to the mount point. Returns 0, or a negative errno: the last value stands. */
static int read_limit(struct cpu_quota_reader *reader, const struct place *place, struct limit *out)
{
	char path[PATH_MAX];
	bool is_leaf = true;

	memcpy(path, place->location.path, sizeof(path));
	*out = (struct limit){0};
	while (path[0] != '\0') {
		int error = read_group(path, place->membership.version, out);

		if (error == -EINVAL || error == -EACCES) {
			report(reader, TROUBLE_NOT_UNDERSTOOD, path + reader->root_bytes);
		} else if (error == -ENOENT) {
			if (is_leaf)
				report(reader, TROUBLE_GONE, path + reader->root_bytes);
			if (reader->has_read)
				return error;
		} else if (error) {
			report(reader, TROUBLE_UNREADABLE, path + reader->root_bytes);
			return error;
		}
		is_leaf = false;
		if (strlen(path) <= place->location.mount_point_bytes)
			break;
		*strrchr(path, '/') = '\0';
	}
	return 0;
}

static void refresh(struct cpu_quota_reader *reader)
{
	struct place place;
	struct limit limit;

	if (find_place(reader, &place) < 0 || read_limit(reader, &place, &limit) < 0)
		return;
	reader->place = place;
	reader->limit = limit;
	reader->has_read = true;
}

static unsigned usable_cpus(const struct cgroup_bandwidth *bandwidth, unsigned affinity_cpus)
{
	uint64_t cpus;

	if (bandwidth->quota_us == 0)
		return affinity_cpus;
	/* Rounded up, in integers: 300000 / 100000 must not become 4. */
	cpus = bandwidth->quota_us / bandwidth->period_us;
	cpus += bandwidth->quota_us % bandwidth->period_us != 0;
	return cpus < affinity_cpus ? (unsigned)cpus : affinity_cpus;
}

void cpu_quota_read(struct cpu_quota_reader *reader, struct cpu_quota *out)
{
	const struct place *place = &reader->place;
	const struct limit *limit = &reader->limit;
	const struct cgroup_bandwidth *bandwidth = &limit->bandwidth;

	reader->warning = NULL;
	refresh(reader);

	out->affinity_cpus = reader->affinity_cpus ? reader->affinity_cpus : cpu_affinity_count();
	out->usable = usable_cpus(bandwidth, out->affinity_cpus);
	out->quota_cpus = INFINITY;
	out->limited_by[0] = '\0';
	if (bandwidth->quota_us != 0) {
		size_t bytes = limit->path_bytes - reader->root_bytes;

		out->quota_cpus = (double)bandwidth->quota_us / (double)bandwidth->period_us;
		memcpy(out->limited_by, place->location.path + reader->root_bytes, bytes);
		out->limited_by[bytes] = '\0';
	}
	out->cgroup = place->location.path[0] ? place->membership.version : 0;
	out->throttling = limit->throttling;
	out->warning = reader->warning;
	out->warning_path = reader->warning ? reader->warning_path : NULL;
}
