#ifndef EXECUTORS_COROUTINE_OVERFLOW_H
#define EXECUTORS_COROUTINE_OVERFLOW_H

#include <stddef.h>
#include <stdnoreturn.h>

/*
 * The end of a process in which a task needed more stack than it has: it says
 * which task, then dies. There is no going on: what lies below the stack may be
 * damaged, and the locks that the task holds would stay held.
 *
 * Where the guard makes the touch fault, the process dies of SIGSEGV, with the
 * task's stack as it was. A fault elsewhere goes to whoever handled SIGSEGV when
 * the first driver started. Not in builds with the address or the thread
 * sanitizer, which handle SIGSEGV themselves and report a stack overflow.
 */

/**
 * Have the calling driver's faults handled on a stack of their own, since the task's is full.
 * Returns what to give to overflow_catch_stop(); NULL if there is no memory: then an overflow on
 * this pthread ends the process without a word.
 */
void *overflow_catch_start(void);
void overflow_catch_stop(void *signal_stack);

/** Say on stderr whose stack overflowed. @task_name may be NULL. Async-signal-safe. */
void overflow_say(const char *task_name, size_t stack_bytes);

/** Say so and abort: the stack has been found damaged. */
noreturn void overflow_abort(const char *task_name, size_t stack_bytes);

#endif
