#ifndef EXECUTORS_CGROUP_BANDWIDTH_H
#define EXECUTORS_CGROUP_BANDWIDTH_H

#include <stdint.h>

/*
 * The CPU bandwidth files of one cgroup directory, version 1 or 2: how much CPU
 * time it may use, and how often it was stopped for using more.
 * Formats: Documentation/admin-guide/cgroup-v2.rst and
 * Documentation/scheduler/sched-bwc.rst of the kernel.
 */

/** The group may use @quota_us of CPU time in each @period_us. */
struct cgroup_bandwidth {
	uint64_t quota_us;  /* 0: no limit */
	uint64_t period_us; /* never 0 */
};

struct cgroup_throttling {
	uint64_t periods;           /* periods in which the group ran */
	uint64_t throttled_periods; /* of these, cut short */
	uint64_t throttled_ns;      /* summed over CPUs */
};

/**
 * Read cpu.max (@version 2) or cpu.cfs_quota_us and cpu.cfs_period_us (1).
 * @directory_fd may be an O_PATH descriptor. Bursts, weights and shares are no limits and not read.
 *
 * Returns 0, also when the files are missing (the controller is not delegated:
 * no limit here); -EINVAL they do not have the kernel's format; another negative
 * errno of open(2) or read(2). *@out is untouched on failure.
 */
int cgroup_bandwidth_read(int directory_fd, int version, struct cgroup_bandwidth *out);

/**
 * Read cpu.stat. Lines that are missing count as 0.
 *
 * Returns 0; a negative errno of open(2) or read(2). *@out is untouched on failure.
 */
int cgroup_throttling_read(int directory_fd, int version, struct cgroup_throttling *out);

#endif
