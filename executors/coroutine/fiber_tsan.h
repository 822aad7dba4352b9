#ifndef EXECUTORS_COROUTINE_FIBER_TSAN_H
#define EXECUTORS_COROUTINE_FIBER_TSAN_H

#include <sanitizer/tsan_interface.h>

/*
 * fiber.h under ThreadSanitizer: included by it, once struct fiber is known. A fiber must have
 * run before it is destroyed, and a pthread must end on its own.
 */

static inline void fiber_adopt_thread(struct fiber *fiber)
{
	*fiber = (struct fiber){.sanitizer = __tsan_get_current_fiber()};
}

static inline void fiber_init(struct fiber *fiber, void *stack, size_t stack_bytes,
                              void (*entry)(void *fiber))
{
	*fiber = (struct fiber){
		.stack = stack,
		.stack_bytes = stack_bytes,
		.sanitizer = __tsan_create_fiber(0),
	};
	context_init(&fiber->context, (char *)stack + stack_bytes, entry, fiber);
}

static inline void fiber_enter(struct fiber *fiber)
{
	(void)fiber;
}

static __attribute__((noinline, unused)) void fiber_switch(struct fiber *from, struct fiber *to)
{
	__tsan_switch_to_fiber(to->sanitizer, 0);
	context_switch(&from->context, &to->context);
}

static __attribute__((noinline, unused)) void fiber_leave(struct fiber *from, struct fiber *to)
{
	__tsan_switch_to_fiber(to->sanitizer, 0);
	context_switch(&from->context, &to->context);
}

static inline void fiber_finish(struct fiber *fiber)
{
	__tsan_destroy_fiber(fiber->sanitizer);
	fiber->sanitizer = NULL;
}

#endif
