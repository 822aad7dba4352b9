/* On the stack, from the stack pointer up: the entry, its argument. rbp is 0: the frame chain ends. */
	.text

	.globl	context_start
	.type	context_start, @function
	.p2align 4
context_start:
	.cfi_startproc
	.cfi_undefined rip
	popq	%rax
	popq	%rdi
	callq	*%rax
	ud2
	.cfi_endproc
	.size	context_start, . - context_start

	.section .note.GNU-stack, "", @progbits
