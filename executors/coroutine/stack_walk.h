#ifndef EXECUTORS_COROUTINE_STACK_WALK_H
#define EXECUTORS_COROUTINE_STACK_WALK_H

#include "executors/coroutine/fiber.h"

/**
 * Write where the stack of @fiber, which has been left, would go on, and the return addresses of
 * the frames below it, innermost first. Follows frame pointers, and stops at what does not look
 * like one. Only as long as nobody resumes @fiber. Returns how many were written, at most @max.
 */
unsigned stack_walk(const struct fiber *fiber, const void **pcs, unsigned max);

#endif
