#include "executors/coroutine/stack_walk.h"

#include <stdint.h>

/* On both architectures a frame pointer points at the caller's, beside the return address. */
struct frame {
	uintptr_t outer;
	const void *return_address;
};

unsigned stack_walk(const struct fiber *fiber, const void **pcs, unsigned max)
{
	uintptr_t low = (uintptr_t)fiber->context.stack_pointer;
	uintptr_t high = (uintptr_t)fiber->stack + fiber->stack_bytes - sizeof(struct frame);
	unsigned count = 0;
	uintptr_t at = (uintptr_t)fiber->context.frame_pointer;

	if (max > 0)
		pcs[count++] = (const void *)fiber->context.resume;
	while (count < max && at >= low && at <= high && at % sizeof(at) == 0) {
		const struct frame *frame = (const struct frame *)at;

		if (!frame->return_address)
			break;
		pcs[count++] = frame->return_address;
		low = at + sizeof(*frame); /* the chain leads upwards, or it is none */
		at = frame->outer;
	}
	return count;
}
