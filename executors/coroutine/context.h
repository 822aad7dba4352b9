#ifndef EXECUTORS_COROUTINE_CONTEXT_H
#define EXECUTORS_COROUTINE_CONTEXT_H

#include <stdint.h>

/*
 * A point at which a stack was left, and the switch between two of them, in
 * assembly: context_x86_64.h, context_aarch64.h.
 *
 *	context_switch(from, to)              leave the calling stack in @from and go on at @to
 *	context_init(context, top, fn, arg)   the first switch there calls fn(arg)
 *
 * The compiler is told that the switch changes every register and keeps what it needs. So nothing
 * is saved that nobody uses, no signal mask (a system call each way in swapcontext(3)) and no
 * floating-point control words, which nobody here changes.
 *
 * It is neither called nor returned from, but jumped over to: a processor predicts returns by
 * pairing them with calls, on whatever stack. One call that never returns puts every return after
 * it out of step, which costs more than the switch itself.
 */
struct context {
	void *stack_pointer;
	void *frame_pointer;
	uintptr_t resume; /* where to go on */
};

/* Where a new stack begins. Unwinders stop at its frame. */
void context_start(void);

#if defined(__x86_64__)
#include "executors/coroutine/context_x86_64.h"
#elif defined(__aarch64__)
#include "executors/coroutine/context_aarch64.h"
#else
#error "no context_switch() for this architecture"
#endif

#endif
