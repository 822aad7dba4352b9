#include "executors/cpu_affinity.h"

#include <errno.h>
#include <unistd.h>

enum {
	FIRST_SET_CPUS = 1024,
	LARGEST_SET_CPUS = 1 << 20,
};

static int ask_with_room_for(cpu_affinity_source *source, pid_t pid, int cpus)
{
	size_t set_bytes = CPU_ALLOC_SIZE(cpus);
	cpu_set_t *set = CPU_ALLOC(cpus);
	int result;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(set_bytes, set);
	result = source(pid, set_bytes, set) < 0 ? -errno : CPU_COUNT_S(set_bytes, set);
	CPU_FREE(set);
	return result;
}

int cpu_affinity_ask(cpu_affinity_source *source, pid_t pid)
{
	int result = -EINVAL;

	for (int cpus = FIRST_SET_CPUS; cpus <= LARGEST_SET_CPUS && result == -EINVAL; cpus *= 2)
		result = ask_with_room_for(source, pid, cpus);
	return result;
}

unsigned cpu_affinity_count(void)
{
	/* The main thread's id is the process id. Other threads may be bound more tightly. */
	long cpus = cpu_affinity_ask(sched_getaffinity, getpid());

	if (cpus < 1)
		cpus = sysconf(_SC_NPROCESSORS_ONLN);
	return cpus < 1 ? 1 : (unsigned)cpus;
}
