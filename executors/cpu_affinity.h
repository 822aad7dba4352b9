#ifndef EXECUTORS_CPU_AFFINITY_H
#define EXECUTORS_CPU_AFFINITY_H

#include <sched.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * How many CPUs the kernel lets this process run on: its affinity mask, which
 * already reflects cpusets of either cgroup version. The count of online CPUs
 * does not, and is not asked.
 */

/**
 * CPUs in the affinity mask of the main thread, at least 1.
 *
 * Any thread. Falls back to the online CPUs should the kernel refuse to tell.
 */
unsigned cpu_affinity_count(void);

/** What cpu_affinity_ask() asks: sched_getaffinity(2), or a stand-in for it. */
typedef int cpu_affinity_source(pid_t pid, size_t set_bytes, cpu_set_t *set);

/**
 * Count the CPUs that @source reports for @pid, with a set as large as it takes:
 * machines with over 1,024 CPUs answer EINVAL for a plain cpu_set_t.
 *
 * Returns the count; -ENOMEM; or the negative errno of @source.
 */
int cpu_affinity_ask(cpu_affinity_source *source, pid_t pid);

#endif
