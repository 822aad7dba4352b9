#ifndef EXECUTORS_COROUTINE_CONTEXT_X86_64_H
#define EXECUTORS_COROUTINE_CONTEXT_X86_64_H

/* Included by context.h, once struct context is known. */

/* Registers that only code for such processors uses. */
#if defined(__AVX512F__)
#define CONTEXT_AVX512                                                                             \
	, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",         \
		"xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3",   \
		"k4", "k5", "k6", "k7"
#else
#define CONTEXT_AVX512
#endif

/**
 * Leave the calling stack in @from and go on at @to. Returns when someone switches to @from,
 * perhaps on another pthread.
 */
static inline __attribute__((always_inline)) void context_switch(struct context *from,
                                                                 const struct context *to)
{
	__asm__ volatile("leaq	1f(%%rip), %%rax\n\t"
	                 "movq	%%rsp, (%%rdi)\n\t"
	                 "movq	%%rbp, 8(%%rdi)\n\t"
	                 "movq	%%rax, 16(%%rdi)\n\t"
	                 "movq	(%%rsi), %%rsp\n\t"
	                 "movq	8(%%rsi), %%rbp\n\t"
	                 "jmpq	*16(%%rsi)\n"
	                 "1:"
	                 : "+D"(from), "+S"(to)
	                 :
	                 : "memory", "cc", "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11",
	                   "r12", "r13", "r14", "r15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
	                   "st(5)", "st(6)", "st(7)", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
	                   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
	                   "xmm13", "xmm14", "xmm15" CONTEXT_AVX512);
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
