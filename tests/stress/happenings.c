#include "tests/stress/happenings.h"

#include <errno.h>
#include <stdatomic.h>

#include "executors/splitmix64.h"
#include "tests/with_cmocka.h"

static const char *const names[HAPPENING_KINDS] = {
	[HAS_REFUSED] = "refused",
	[HAS_TIMED_OUT] = "waits timed out",
	[HAS_CANCELLED] = "waits cancelled",
	[HAS_WOKEN_FROM_OUTSIDE] = "woken from outside",
	[HAS_PASSED_SEMAPHORE] = "through the semaphore",
	[HAS_PASSED_MUTEX] = "through the mutex",
	[HAS_TOLD_BY_CONDITION] = "told by the condition",
	[HAS_SENT] = "sent",
	[HAS_HANDED_ACROSS] = "received from another executor",
	[HAS_OFFLOADED] = "offloaded",
	[HAS_OFFLOAD_GIVEN_UP] = "offloads given up",
	[HAS_IO_WAITED] = "waits for a socket",
	[HAS_ALARM_RANG] = "timers fired",
	[HAS_ALARM_TAKEN_BACK] = "timers unset",
	[HAS_SCOPE_SUCCEEDED] = "scopes succeeded",
	[HAS_SCOPE_FAILED] = "scopes failed",
	[HAS_SCOPE_CANCELLED] = "scopes cancelled",
	[HAS_COLLECTED] = "children collected",
	[HAS_LEFT_OUT] = "children that never ran",
	[HAS_RESIZED] = "resizes",
	[HAS_DESTROYED_UNDER_LOAD] = "executors destroyed under load",
	[HAS_STOLEN] = "children stolen",
	[HAS_CHANGED_THREAD] = "came back on another pthread",
	[HAS_HELD_UP] = "carriers held up for want of a spare",
	[HAS_RAN_BESIDE] = "ran beside the carrier",
	[HAS_BEEN_INTERRUPTED] = "sleeps in the kernel interrupted",
};

/* Relaxed: looked at once everything has ended. */
static atomic_ullong counts[HAPPENING_KINDS];
static atomic_ullong wrong;
static _Atomic(const char *) first_wrong;

void happen_times(enum happening happening, unsigned long long times)
{
	atomic_fetch_add_explicit(&counts[happening], times, memory_order_relaxed);
}

void happen(enum happening happening)
{
	happen_times(happening, 1);
}

int happen_error(int error)
{
	if (error == -ETIMEDOUT)
		happen(HAS_TIMED_OUT);
	else if (error == -ECANCELED)
		happen(HAS_CANCELLED);
	return error;
}

void go_wrong(const char *what)
{
	const char *none = NULL;

	(void)atomic_compare_exchange_strong(&first_wrong, &none, what);
	atomic_fetch_add(&wrong, 1);
}

unsigned happenings_judge(enum happening expected)
{
	unsigned long long times_wrong = atomic_load(&wrong);
	unsigned missing = times_wrong != 0;

	for (unsigned i = 0; i < HAPPENING_KINDS; i++) {
		unsigned long long count = atomic_load(&counts[i]);

		print_message("# %10llu %s\n", count, names[i]);
		missing += i < expected && count == 0;
	}
	if (times_wrong)
		print_message("# %llu wrong, the first: %s\n", times_wrong,
		              atomic_load(&first_wrong));
	return missing;
}

uint64_t draw(uint64_t *state)
{
	return splitmix64_next(state);
}

unsigned draw_below(uint64_t *state, unsigned limit)
{
	return (unsigned)(draw(state) % limit);
}

struct deadline draw_deadline(uint64_t *state)
{
	return deadline_in_ns(draw_below(state, 500000));
}
