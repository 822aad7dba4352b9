#ifndef EXECUTORS_COROUTINE_CONTEXT_AARCH64_H
#define EXECUTORS_COROUTINE_CONTEXT_AARCH64_H

/* Included by context.h, once struct context is known. */

/**
 * Leave the calling stack in @from and go on at @to. Returns when someone switches to @from,
 * perhaps on another pthread.
 */
static inline __attribute__((always_inline)) void context_switch(struct context *from,
                                                                 const struct context *to)
{
	register struct context *left __asm__("x0") = from;
	register const struct context *entered __asm__("x1") = to;

	__asm__ volatile("adr	x9, 1f\n\t"
	                 "mov	x10, sp\n\t"
	                 "stp	x10, x29, [x0]\n\t"
	                 "str	x9, [x0, #16]\n\t"
	                 "ldp	x10, x29, [x1]\n\t"
	                 "ldr	x9, [x1, #16]\n\t"
	                 "mov	sp, x10\n\t"
	                 "br	x9\n"
	                 "1:"
	                 : "+r"(left), "+r"(entered)
	                 :
	                 : "memory", "cc", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
	                   "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20",
	                   "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0",
	                   "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
	                   "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
	                   "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

/**
 * Prepare @context so that the first switch to it calls @entry(@arg) on the stack that ends at
 * @top, aligned to 16 bytes. @entry must not return.
 */
static inline void context_init(struct context *context, void *top, void (*entry)(void *arg),
                                void *arg)
{
	uintptr_t *stack = (uintptr_t *)top - 2;

	stack[0] = (uintptr_t)entry;
	stack[1] = (uintptr_t)arg;
	*context = (struct context){.stack_pointer = stack, .resume = (uintptr_t)context_start};
}

#endif
