#include "handlers/burn_cpu.h"

#include <time.h>

#include "executors/task.h"

enum { STEPS_BETWEEN_LOOKS = 500 }; /* about a microsecond */

/* CPU time, not wall time: a thread that has been preempted has not burnt anything. */
static int64_t thread_cpu_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
		return INT64_MAX; /* no such clock: better to burn nothing than for ever */
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void burn_cpu(uint64_t us)
{
	uint64_t x = 1;
	int64_t end_ns;

	if (__builtin_add_overflow(thread_cpu_ns(), (int64_t)(us * 1000), &end_ns))
		return;
	/* Nothing in here may change the thread, whose clock this is. The deadline is looked at
	 * too: a parent that runs this child in its own place cannot cancel it meanwhile. */
	while (thread_cpu_ns() < end_ns && task_cancel_reason() == CANCEL_NONE &&
	       deadline_remaining_ns(task_deadline()) > 0) {
		for (int i = 0; i < STEPS_BETWEEN_LOOKS; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		/* xorshift never reaches 0, which compilers do not know: the work stays. */
		if (x == 0)
			return;
	}
}
