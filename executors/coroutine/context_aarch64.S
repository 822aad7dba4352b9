/*
 * AAPCS64: x19–x29, sp and the low halves of v8–v15 are preserved across calls;
 * x30 is where to resume. Saved stack, from the stack pointer up: x19 … x30, d8 … d15.
 */
	.text

	.globl	context_switch
	.type	context_switch, %function
	.p2align 4
context_switch:
	.cfi_startproc
	sub	sp, sp, #160
	.cfi_def_cfa_offset 160
	stp	x19, x20, [sp, #0]
	stp	x21, x22, [sp, #16]
	stp	x23, x24, [sp, #32]
	stp	x25, x26, [sp, #48]
	stp	x27, x28, [sp, #64]
	stp	x29, x30, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x9, sp
	str	x9, [x0]
	ldr	x9, [x1]
	mov	sp, x9
	ldp	x19, x20, [sp, #0]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	add	sp, sp, #160
	.cfi_def_cfa_offset 0
	br	x30
	.cfi_endproc
	.size	context_switch, . - context_switch

	.globl	context_init
	.type	context_init, %function
	.p2align 4
context_init:
	.cfi_startproc
	sub	x9, x1, #160
	stp	x2, x3, [x9, #0]	/* x19: the entry, x20: the argument */
	stp	xzr, xzr, [x9, #16]
	stp	xzr, xzr, [x9, #32]
	stp	xzr, xzr, [x9, #48]
	stp	xzr, xzr, [x9, #64]
	adr	x10, context_start
	stp	xzr, x10, [x9, #80]	/* x29: end of the frame chain */
	stp	xzr, xzr, [x9, #96]
	stp	xzr, xzr, [x9, #112]
	stp	xzr, xzr, [x9, #128]
	stp	xzr, xzr, [x9, #144]
	str	x9, [x0]
	ret
	.cfi_endproc
	.size	context_init, . - context_init

	.type	context_start, %function
	.p2align 4
context_start:
	.cfi_startproc
	.cfi_undefined x30
	mov	x0, x20
	blr	x19
	brk	#1
	.cfi_endproc
	.size	context_start, . - context_start

	.section .note.GNU-stack, "", %progbits
