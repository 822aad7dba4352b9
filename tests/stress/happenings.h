#ifndef TESTS_STRESS_HAPPENINGS_H
#define TESTS_STRESS_HAPPENINGS_H

#include <stdint.h>

#include "executors/deadline.h"

/*
 * What is random in the load, and the counts that prove that each thing that the
 * load is for has happened.
 */
enum happening {
	HAS_REFUSED,            /* a submit or fork for which there was no room */
	HAS_TIMED_OUT,          /* a wait */
	HAS_CANCELLED,          /* a wait */
	HAS_WOKEN_FROM_OUTSIDE, /* by a thread that is no executor's */
	HAS_PASSED_SEMAPHORE,
	HAS_PASSED_MUTEX,
	HAS_TOLD_BY_CONDITION,
	HAS_SENT,          /* through a channel */
	HAS_HANDED_ACROSS, /* a channel's item, from another executor's task */
	HAS_OFFLOADED,
	HAS_OFFLOAD_GIVEN_UP, /* cancelled or over its deadline before a thread had it */
	HAS_IO_WAITED,
	HAS_ALARM_RANG, /* a carrier's timer */
	HAS_ALARM_TAKEN_BACK,
	HAS_SCOPE_SUCCEEDED, /* by its policy */
	HAS_SCOPE_FAILED,
	HAS_SCOPE_CANCELLED,
	HAS_COLLECTED, /* a child, by scope_next() */
	HAS_LEFT_OUT,  /* a child that never ran */
	HAS_RESIZED,
	HAS_DESTROYED_UNDER_LOAD,
	HAS_STOLEN,         /* a child, by another carrier than its parent's */
	HAS_CHANGED_THREAD, /* a task that had kept its carrier came back on another pthread */
	HAS_RAN_BESIDE,     /* a task of a heavy class, beside its carrier */
	HAPPENINGS_EXPECTED,
	/* Often where coroutines are under test, seldom where they are the other executor. */
	HAS_HELD_UP = HAPPENINGS_EXPECTED, /* a carrier that was kept, with no spare driver */
	HAPPENINGS_OF_COROUTINES,
	/* Rare: may happen, and need not. */
	HAS_BEEN_INTERRUPTED = HAPPENINGS_OF_COROUTINES, /* a sleep in the kernel, by the signal of
	                                               executors/coroutine/stack_signal.h */
	HAPPENING_KINDS,
};

/** Count one. Any thread. */
void happen(enum happening happening);
void happen_times(enum happening happening, unsigned long long times);

/** Count what a wait returned, if it failed. Returns it. */
int happen_error(int error);

/** Something is not as it must be. The first @what is printed at the end; static text. Any thread.
 */
void go_wrong(const char *what);

/** Print all counts. How many of those below @expected, one of the marks above, stayed at 0, plus
 * one if something went wrong. */
unsigned happenings_judge(enum happening expected);

/** splitmix64; each task draws from a state of its own. */
uint64_t draw(uint64_t *state);
unsigned draw_below(uint64_t *state, unsigned limit);

/** Soon: mostly before what is waited for. */
struct deadline draw_deadline(uint64_t *state);

#endif
