#ifndef TESTS_UNIT_CPU_QUOTA_FIXTURE_H
#define TESTS_UNIT_CPU_QUOTA_FIXTURE_H

#include "executors/cpu_quota.h"
#include "tests/unit/cgroup_tree.h"

/* Lines of /proc/self/mountinfo. */
#define V2_MOUNT "31 30 0:24 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"

/** A reader of quotas, and the tree of files that it takes for those of the kernel. */
struct fixture {
	struct cgroup_tree tree;
	struct cpu_quota_reader *reader;
	struct cpu_quota quota;
};

/** The tree is empty. */
void start(struct fixture *fixture, unsigned affinity_cpus);

void finish(struct fixture *fixture);

/** As cgroup_tree_write(). */
void write_file(struct fixture *fixture, const char *path, const char *text);

/** Read the quota. Returns how many CPUs are usable. */
unsigned read_usable(struct fixture *fixture);

#endif
