#ifndef EXECUTORS_COROUTINE_FIBER_PLAIN_H
#define EXECUTORS_COROUTINE_FIBER_PLAIN_H

/* fiber.h for builds without a sanitizer: included by it, once struct fiber is known. */

static inline void fiber_adopt_thread(struct fiber *fiber)
{
	*fiber = (struct fiber){0};
}

static inline void fiber_init(struct fiber *fiber, void *stack, size_t stack_bytes,
                              void (*entry)(void *fiber))
{
	*fiber = (struct fiber){.stack = stack, .stack_bytes = stack_bytes};
	context_init(&fiber->context, (char *)stack + stack_bytes, entry, fiber);
}

static inline void fiber_enter(struct fiber *fiber)
{
	(void)fiber;
}

static inline void fiber_switch(struct fiber *from, struct fiber *to)
{
	context_switch(&from->context, &to->context);
}

static inline void fiber_leave(struct fiber *from, struct fiber *to)
{
	context_switch(&from->context, &to->context);
}

static inline void fiber_finish(struct fiber *fiber)
{
	(void)fiber;
}

#endif
