/* On the stack, from the stack pointer up: the entry, its argument. x29 is 0: the frame chain ends. */
	.text

	.globl	context_start
	.type	context_start, %function
	.p2align 4
context_start:
	.cfi_startproc
	.cfi_undefined x30
	ldp	x9, x0, [sp], #16
	blr	x9
	brk	#1
	.cfi_endproc
	.size	context_start, . - context_start

	.section .note.GNU-stack, "", %progbits
