#ifndef EXECUTORS_COROUTINE_CONTEXT_H
#define EXECUTORS_COROUTINE_CONTEXT_H

/*
 * A point at which a stack was left, and the switch between two of them, in
 * assembly: context_x86_64.S, context_aarch64.S.
 *
 * Saves what the ABI says a call preserves and nothing else: no signal mask (a
 * system call each way in swapcontext(3)) and no floating-point control words,
 * which nobody here changes. A context is resumed by an indirect jump: a return
 * would always be mispredicted, since the predictor pairs it with a call made on
 * another stack.
 */
struct context {
	void *stack_pointer;
};

/**
 * Leave the calling stack in @from and go on at @to. Returns when someone switches to @from,
 * perhaps on another pthread.
 */
void context_switch(struct context *from, const struct context *to);

/**
 * Prepare @context so that the first switch to it calls entry(arg) on the stack
 * that ends at @top, aligned to 16 bytes. @entry must not return. Unwinders stop
 * at the frame below it.
 */
void context_init(struct context *context, void *top, void (*entry)(void *arg), void *arg);

#endif
