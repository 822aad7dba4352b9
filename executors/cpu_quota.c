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

enum trouble {
	TROUBLE_MEMBERSHIP,
	TROUBLE_MOUNTS,
	TROUBLE_NO_MOUNT,
	TROUBLE_OUT_OF_SIGHT,
	TROUBLE_GONE,
	TROUBLE_UNREADABLE,
	TROUBLE_MALFORMED,
};

static const char *const warnings[] = {
	[TROUBLE_MEMBERSHIP] = "cannot be read, so a change of the CPU quota is not seen",
	[TROUBLE_MOUNTS] = "cannot be read, so a change of the CPU quota is not seen",
	[TROUBLE_NO_MOUNT] = "shows no mount of this process's cgroup: no CPU quota is known",
	[TROUBLE_OUT_OF_SIGHT] = "is all that is in sight of this process's cgroup: its own CPU "
				 "quota is not known",
	[TROUBLE_GONE] = "is this process's cgroup but does not exist: the last CPU quota known "
			 "stands",
	[TROUBLE_UNREADABLE] = "has a CPU quota that cannot be read: the last one known stands",
	[TROUBLE_MALFORMED] = "has a CPU quota that is not understood: taken as none",
};

/* The tightest limit found. */
struct limit {
	struct cgroup_bandwidth bandwidth;
	struct cgroup_throttling throttling;
	size_t path_bytes; /* of the group's directory, a prefix of the location's path */
};

struct cpu_quota_reader {
	char root[PATH_MAX];
	unsigned affinity_cpus;

	/* What the last successful read found. */
	bool has_read;
	struct cgroup_membership membership;
	struct cgroup_location location; /* of @membership unless its version is 0 */
	int cgroup;
	struct limit limit;
	char limited_by[PATH_MAX];

	unsigned reported; /* a bit for each trouble the caller has heard of */
	const char *warning;
	char warning_path[PATH_MAX];
};

int cpu_quota_reader_create(const char *root, unsigned affinity_cpus, struct cpu_quota_reader **out)
{
	struct cpu_quota_reader *reader;

	if (strlen(root) >= sizeof(reader->root))
		return -ENAMETOOLONG;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	strcpy(reader->root, root);
	reader->affinity_cpus = affinity_cpus;
	reader->limit.bandwidth.period_us = 1;
	*out = reader;
	return 0;
}

void cpu_quota_reader_destroy(struct cpu_quota_reader *reader)
{
	free(reader);
}

/* One warning a read; another trouble of the same read is told by the next one. */
static void report(struct cpu_quota_reader *reader, enum trouble trouble, const char *path)
{
	if (reader->warning || (reader->reported & 1U << trouble))
		return;
	reader->reported |= 1U << trouble;
	reader->warning = warnings[trouble];
	stpncpy(reader->warning_path, path, sizeof(reader->warning_path) - 1);
}
