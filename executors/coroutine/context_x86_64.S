/*
 * System V AMD64 ABI: rbx, rbp, r12–r15 and rsp are preserved across calls.
 * Saved stack, from the stack pointer up: r15 r14 r13 r12 rbx rbp, resume address.
 */
	.text

	.globl	context_switch
	.type	context_switch, @function
	.p2align 4
context_switch:
	.cfi_startproc
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, (%rdi)
	movq	(%rsi), %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	popq	%rcx
	jmpq	*%rcx
	.cfi_endproc
	.size	context_switch, . - context_switch

	.globl	context_init
	.type	context_init, @function
	.p2align 4
context_init:
	.cfi_startproc
	leaq	-56(%rsi), %rax
	movq	$0, (%rax)		/* r15 */
	movq	$0, 8(%rax)		/* r14 */
	movq	%rcx, 16(%rax)		/* r13: the argument */
	movq	%rdx, 24(%rax)		/* r12: the entry */
	movq	$0, 32(%rax)		/* rbx */
	movq	$0, 40(%rax)		/* rbp: end of the frame chain */
	leaq	context_start(%rip), %rdx
	movq	%rdx, 48(%rax)
	movq	%rax, (%rdi)
	ret
	.cfi_endproc
	.size	context_init, . - context_init

	.type	context_start, @function
	.p2align 4
context_start:
	.cfi_startproc
	.cfi_undefined rip
	movq	%r13, %rdi
	callq	*%r12
	ud2
	.cfi_endproc
	.size	context_start, . - context_start

	.section .note.GNU-stack, "", @progbits
