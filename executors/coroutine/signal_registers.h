#ifndef EXECUTORS_COROUTINE_SIGNAL_REGISTERS_H
#define EXECUTORS_COROUTINE_SIGNAL_REGISTERS_H

#include <ucontext.h>

#include "executors/stack_snapshot.h"

/*
 *	signal_registers(context)   of the code that a signal has interrupted
 */
#if defined(__x86_64__)

static inline struct stack_registers signal_registers(const ucontext_t *context)
{
	const greg_t *registers = context->uc_mcontext.gregs;

	return (struct stack_registers){
		.pc = (uintptr_t)registers[REG_RIP],
		.sp = (uintptr_t)registers[REG_RSP],
		.fp = (uintptr_t)registers[REG_RBP],
	};
}

#elif defined(__aarch64__)

static inline struct stack_registers signal_registers(const ucontext_t *context)
{
	const mcontext_t *machine = &context->uc_mcontext;

	return (struct stack_registers){
		.pc = machine->pc,
		.sp = machine->sp,
		.fp = machine->regs[29],
		.link = machine->regs[30],
	};
}

#endif

#endif
