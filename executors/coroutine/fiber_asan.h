#ifndef EXECUTORS_COROUTINE_FIBER_ASAN_H
#define EXECUTORS_COROUTINE_FIBER_ASAN_H

#include <assert.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/*
 * fiber.h under AddressSanitizer: included by it, once struct fiber is known. Both hooks and the
 * switch stand in one function that is not inlined, so that no frame of ours lies between them.
 */

static inline void fiber_adopt_thread(struct fiber *fiber)
{
	pthread_attr_t attributes;
	int error;

	*fiber = (struct fiber){0};
	error = pthread_getattr_np(pthread_self(), &attributes);
	assert(error == 0);
	error = pthread_attr_getstack(&attributes, &fiber->stack, &fiber->stack_bytes);
	assert(error == 0);
	(void)pthread_attr_destroy(&attributes);
}

static inline void fiber_init(struct fiber *fiber, void *stack, size_t stack_bytes,
                              void (*entry)(void *fiber))
{
	*fiber = (struct fiber){.stack = stack, .stack_bytes = stack_bytes};
	/* A task that ended left its frames' red zones behind. */
	__asan_unpoison_memory_region(stack, stack_bytes);
	context_init(&fiber->context, (char *)stack + stack_bytes, entry, fiber);
}

static inline void fiber_enter(struct fiber *fiber)
{
	(void)fiber;
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
}

static __attribute__((noinline, unused)) void fiber_switch(struct fiber *from, struct fiber *to)
{
	__sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->stack_bytes);
	context_switch(&from->context, &to->context);
	__sanitizer_finish_switch_fiber(from->sanitizer, NULL, NULL);
}

static __attribute__((noinline, unused)) void fiber_leave(struct fiber *from, struct fiber *to)
{
	__sanitizer_start_switch_fiber(NULL, to->stack, to->stack_bytes);
	context_switch(&from->context, &to->context);
}

static inline void fiber_finish(struct fiber *fiber)
{
	__asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
}

#endif
