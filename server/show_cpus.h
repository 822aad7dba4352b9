#ifndef SERVER_SHOW_CPUS_H
#define SERVER_SHOW_CPUS_H

#include <stdio.h>

/**
 * Write how many CPUs fanoutd would use to @out, as one line of JSON:
 *
 *	{"usable":1,"quota_cpus":0.5,"affinity_cpus":8,"limited_by":"/sys/fs/cgroup/…","cgroup":2}
 *
 * quota_cpus and limited_by are null without a limit, cgroup is 0 where none was
 * found. What could not be read is told on @warnings, a line each.
 * @root stands before /proc and /sys, "" for the real ones; @affinity_cpus stands
 * in for the affinity mask's count, 0 asks the kernel.
 *
 * Returns 0; -ENAMETOOLONG @root; -ENOMEM; -EIO @out cannot be written.
 */
int show_cpus(const char *root, unsigned affinity_cpus, FILE *out, FILE *warnings);

#endif
