#include "executors/deadline.h"

#include <time.h>

int64_t deadline_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct deadline deadline_in_ns(int64_t ns)
{
	struct deadline deadline;

	if (ns < 0)
		ns = 0;
	if (__builtin_add_overflow(deadline_now_ns(), ns, &deadline.ns))
		return DEADLINE_NEVER;
	return deadline;
}

struct deadline deadline_in_ms(int64_t ms)
{
	int64_t ns;

	if (__builtin_mul_overflow(ms, INT64_C(1000000), &ns))
		return ms < 0 ? deadline_in_ns(0) : DEADLINE_NEVER;
	return deadline_in_ns(ns);
}

int64_t deadline_remaining_ns(struct deadline deadline)
{
	int64_t now;

	if (deadline.ns == INT64_MAX)
		return INT64_MAX;
	now = deadline_now_ns();
	return deadline.ns > now ? deadline.ns - now : 0;
}

int deadline_remaining_ms(struct deadline deadline)
{
	int64_t ns = deadline_remaining_ns(deadline);

	if (ns == INT64_MAX)
		return -1;
	if (ns > INT64_C(2147483000) * 1000000)
		return INT32_MAX;
	return (int)((ns + 999999) / 1000000);
}
