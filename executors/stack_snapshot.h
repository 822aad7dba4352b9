#ifndef EXECUTORS_STACK_SNAPSHOT_H
#define EXECUTORS_STACK_SNAPSHOT_H

#include <stdint.h>

/*
 * What a stack held at one moment: raw, for an unwinder to make a list of functions
 * of it later, and elsewhere. Taking one is quick, and safe wherever the code stands.
 */
enum { STACK_SNAPSHOT_WORDS = 1024 };

/** Where the code on the stack stood. 0: not known, or the machine has no such register. */
struct stack_registers {
	uintptr_t pc, sp;
	uintptr_t fp;   /* rbp, x29 */
	uintptr_t link; /* x30 */
};

struct stack_snapshot {
	struct stack_registers registers;
	unsigned count; /* words copied; the outermost frames may be cut off */
	uintptr_t words[STACK_SNAPSHOT_WORDS]; /* from registers.sp on, upwards */
};

/**
 * Copy the stack whose registers are @at, and which ends at @end; the range between is mapped.
 * Async-signal-safe. The stack may change meanwhile, and then the copy is torn: the caller is to
 * find that out.
 */
void stack_snapshot_take(struct stack_snapshot *snapshot, const struct stack_registers *at,
                         uintptr_t end);

#endif
