#ifndef EXECUTORS_CGROUP_LOCATION_H
#define EXECUTORS_CGROUP_LOCATION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Where in the file system the cgroup is that limits this process's CPU time, or its memory:
 * what the controller "cpu", or "memory", is in charge of.
 *
 * Two steps, as the second one is needed only when the first one's answer
 * changes: which group (/proc/self/cgroup), and where that group is mounted
 * (/proc/self/mountinfo). Formats: cgroups(7), proc(5).
 * @root stands before /proc and every mount point; "" is the real system.
 */

/** The group, as named within the process's cgroup namespace. */
struct cgroup_membership {
	int version; /* 1 or 2: the hierarchy the controller is in; 0: in none */
	char group[PATH_MAX];
};

/** The group's directory. Its visible ancestors are the directories above it, up to the mount. */
struct cgroup_location {
	char path[PATH_MAX];      /* @root included; no trailing slash */
	size_t mount_point_bytes; /* how much of @path is @root and the mount point */
	bool is_mount_point_only; /* the group itself is out of sight: @path is the mount point */
};

/**
 * Which group is this process in? It is a version 1 group if @controller
 * stands in a version 1 line, whatever else is mounted.
 *
 * Returns 0, also for version 0; -ENAMETOOLONG; -ENOMEM; a negative errno of
 * open(2) or read(2). *@out is untouched on failure.
 */
int cgroup_membership_read(const char *root, const char *controller, struct cgroup_membership *out);

/**
 * Find the directory of @membership, whose version is not 0, in the mount that
 * shows most of its ancestors. A mount whose root is no ancestor is passed over.
 * Where names lead out of the namespace ("..") only the mount point can be read.
 *
 * Returns 1; 0 no mount shows the group; -ENAMETOOLONG; -ENOMEM; a negative errno
 * of open(2) or read(2). *@out is undefined unless 1 is returned.
 */
int cgroup_locate(const char *root, const char *controller,
                  const struct cgroup_membership *membership, struct cgroup_location *out);

#endif
