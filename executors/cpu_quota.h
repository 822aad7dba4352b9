#ifndef EXECUTORS_CPU_QUOTA_H
#define EXECUTORS_CPU_QUOTA_H

#include <limits.h>

#include "executors/cgroup_bandwidth.h"

/*
 * How many CPUs this process can keep busy:
 *
 *	usable = clamp(ceil(min(quota / period)), 1, affinity)
 *
 * with the minimum over its cgroup and every ancestor in sight, of version 1 or
 * 2. A quota above a container's namespace cannot be seen. Limits and membership
 * change while a process runs: read again every second or so, which costs some
 * ten system calls.
 */
struct cpu_quota_reader;

struct cpu_quota {
	unsigned usable;           /* at least 1 */
	unsigned affinity_cpus;    /* CPUs the process may run on, at least 1 */
	double quota_cpus;         /* exact, 0.5 for half a CPU; INFINITY: no limit */
	int cgroup;                /* version that limits CPU here, 1 or 2; 0: none found */
	char limited_by[PATH_MAX]; /* directory of the tightest group, without root; "": no limit */
	struct cgroup_throttling throttling; /* of that group; zeros without a limit */

	/*
	 * Set once per reader for each kind of trouble, so that the caller can log it. Static text;
	 * NULL: nothing new. The file or directory concerned is borrowed until the next read.
	 */
	const char *warning;
	const char *warning_path;
};

/**
 * Make a reader. @root (copied) stands before /proc and every cgroup mount, ""
 * for the real system. @affinity_cpus replaces the affinity mask's count; 0 asks
 * the kernel.
 *
 * On success *@out is the caller's, to be given to cpu_quota_reader_destroy().
 * Returns 0; -ENOMEM; -ENAMETOOLONG @root is too long. *@out is untouched on failure.
 */
int cpu_quota_reader_create(const char *root, unsigned affinity_cpus,
                            struct cpu_quota_reader **out);

/** NULL is allowed. */
void cpu_quota_reader_destroy(struct cpu_quota_reader *reader);

/**
 * Read the limits as they are now.
 *
 * Never fails: what cannot be read limits nothing, and once something has been
 * read, passing trouble (no descriptors left, the group's directory deleted)
 * leaves it standing. Either comes with a warning. One thread at a time, not a
 * task: it blocks on files and takes some 20 KiB of stack.
 */
void cpu_quota_read(struct cpu_quota_reader *reader, struct cpu_quota *out);

#endif
