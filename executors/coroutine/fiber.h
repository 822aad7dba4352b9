#ifndef EXECUTORS_COROUTINE_FIBER_H
#define EXECUTORS_COROUTINE_FIBER_H

#include <stddef.h>

#include "executors/coroutine/context.h"

/*
 * A stack that can be switched to: that of a coroutine, or a driver's own. Adds
 * to a context what the sanitizers must be told, who otherwise take the switch
 * for a wild jump (ASan's fake stacks and bounds) or see a race where there is
 * none (TSan's fibers).
 *
 *	fiber_adopt_thread(fiber)                the calling pthread's own stack
 *	fiber_init(fiber, stack, bytes, entry)   a new one; entry(fiber) must not return
 *	fiber_enter(fiber)                       first thing in entry
 *	fiber_switch(from, to)                   leave @from, which is the one we are on
 *	fiber_leave(from, to)                    the same, for the last time
 *	fiber_finish(fiber)                      after it was left; not by itself
 */
struct fiber {
	struct context context;
	void *stack; /* lowest byte that may be used */
	size_t stack_bytes;
	void *sanitizer; /* ASan: its fake stack while we are away; TSan: its fiber */
};

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN
#elif __has_feature(thread_sanitizer)
#define FIBER_TSAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN
#elif defined(__SANITIZE_THREAD__)
#define FIBER_TSAN
#endif

#if defined(FIBER_ASAN)
#include "executors/coroutine/fiber_asan.h"
#elif defined(FIBER_TSAN)
#include "executors/coroutine/fiber_tsan.h"
#else
#include "executors/coroutine/fiber_plain.h"
#endif

#endif
