/* SPDX-License-Identifier: MIT */
/*
 * selfcheck_regs.S - fill registers and red zone, spin, give back what is left.
 *
 *	void selfcheck_spin_{sse,avx,avx512}(const struct selfcheck_regs *in,
 *		struct selfcheck_regs *out, uint64_t spins);
 *
 * Loads everything that a stop, a redirection or a signal frame could disturb
 * from *in (layout in selfcheck.h), runs spins rounds of a loop that touches
 * nothing but rcx (lea and jrcxz leave the flags alone), and stores the state to
 * *out. Whatever was lost in the meantime shows as a difference.
 *
 *	void *selfcheck_call_preserving(void *(*allocate)(size_t), size_t size,
 *		uint64_t *ret_wrong);
 */
#define GPRS	0	/* rbx rbp rdx rsi rdi r8..r15: 13 words */
#define FLAGS	104	/* ah: the low flags, al: overflow */
#define MXCSR	112
#define ZONE	128	/* 16 words of red zone */
#define X87	256	/* one 80-bit number */
#define MASKS	272	/* k1..k7 */
#define VECTORS	320	/* 32 of 64 bytes */

	.text

.macro save_callee
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	push	%rbp
	.cfi_adjust_cfa_offset 8
	push	%r12
	.cfi_adjust_cfa_offset 8
	push	%r13
	.cfi_adjust_cfa_offset 8
	push	%r14
	.cfi_adjust_cfa_offset 8
	push	%r15
	.cfi_adjust_cfa_offset 8
	push	%rsi			/* out */
	.cfi_adjust_cfa_offset 8
	stmxcsr	-8(%rsp)
	mov	-8(%rsp), %eax
	push	%rax			/* caller's mxcsr */
	.cfi_adjust_cfa_offset 8
	mov	%rdx, %rcx		/* rcx = spins */
	mov	%rdi, %rax		/* rax = in */
.endm

.macro load_state
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	mov	ZONE+8*\i(%rax), %rdx
	mov	%rdx, -8*(\i+1)(%rsp)	/* red zone: 128 bytes below rsp */
	.endr
	ldmxcsr	MXCSR(%rax)
	fldt	X87(%rax)
	mov	GPRS+0(%rax), %rbx
	mov	GPRS+8(%rax), %rbp
	mov	GPRS+16(%rax), %rdx
	mov	GPRS+24(%rax), %rsi
	mov	GPRS+32(%rax), %rdi
	mov	GPRS+40(%rax), %r8
	mov	GPRS+48(%rax), %r9
	mov	GPRS+56(%rax), %r10
	mov	GPRS+64(%rax), %r11
	mov	GPRS+72(%rax), %r12
	mov	GPRS+80(%rax), %r13
	mov	GPRS+88(%rax), %r14
	mov	GPRS+96(%rax), %r15
	mov	FLAGS(%rax), %rax
	add	$0x7f, %al		/* sets overflow where al is 1 */
	sahf				/* the low flags from ah */
.endm

.macro spin
1:	jrcxz	2f
	lea	-1(%rcx), %rcx
	jmp	1b
2:	mov	8(%rsp), %rcx		/* rcx = out; mov leaves the flags */
	seto	%al
	lahf
	movzwl	%ax, %eax
	mov	%rax, FLAGS(%rcx)
	mov	%rbx, GPRS+0(%rcx)
	mov	%rbp, GPRS+8(%rcx)
	mov	%rdx, GPRS+16(%rcx)
	mov	%rsi, GPRS+24(%rcx)
	mov	%rdi, GPRS+32(%rcx)
	mov	%r8, GPRS+40(%rcx)
	mov	%r9, GPRS+48(%rcx)
	mov	%r10, GPRS+56(%rcx)
	mov	%r11, GPRS+64(%rcx)
	mov	%r12, GPRS+72(%rcx)
	mov	%r13, GPRS+80(%rcx)
	mov	%r14, GPRS+88(%rcx)
	mov	%r15, GPRS+96(%rcx)
	stmxcsr	MXCSR(%rcx)
	fstpt	X87(%rcx)
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	mov	-8*(\i+1)(%rsp), %rdx
	mov	%rdx, ZONE+8*\i(%rcx)
	.endr
.endm

.macro leave_function
	ldmxcsr	(%rsp)
	add	$16, %rsp
	.cfi_adjust_cfa_offset -16
	pop	%r15
	.cfi_adjust_cfa_offset -8
	pop	%r14
	.cfi_adjust_cfa_offset -8
	pop	%r13
	.cfi_adjust_cfa_offset -8
	pop	%r12
	.cfi_adjust_cfa_offset -8
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
.endm

#define LOW16 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define HIGH16 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31

	.globl	selfcheck_spin_sse
	.type	selfcheck_spin_sse, @function
selfcheck_spin_sse:
	save_callee
	.irp	i, LOW16
	movups	VECTORS+64*\i(%rax), %xmm\i
	.endr
	load_state
	spin
	.irp	i, LOW16
	movups	%xmm\i, VECTORS+64*\i(%rcx)
	.endr
	leave_function
	.size	selfcheck_spin_sse, . - selfcheck_spin_sse

	.globl	selfcheck_spin_avx
	.type	selfcheck_spin_avx, @function
selfcheck_spin_avx:
	save_callee
	.irp	i, LOW16
	vmovups	VECTORS+64*\i(%rax), %ymm\i
	.endr
	load_state
	spin
	.irp	i, LOW16
	vmovups	%ymm\i, VECTORS+64*\i(%rcx)
	.endr
	vzeroupper
	leave_function
	.size	selfcheck_spin_avx, . - selfcheck_spin_avx

	.globl	selfcheck_spin_avx512
	.type	selfcheck_spin_avx512, @function
selfcheck_spin_avx512:
	save_callee
	.irp	i, LOW16
	vmovups	VECTORS+64*\i(%rax), %zmm\i
	.endr
	.irp	i, HIGH16
	vmovups	VECTORS+64*\i(%rax), %zmm\i
	.endr
	.irp	i, 1, 2, 3, 4, 5, 6, 7
	kmovw	MASKS+2*\i(%rax), %k\i
	.endr
	load_state
	spin
	.irp	i, LOW16
	vmovups	%zmm\i, VECTORS+64*\i(%rcx)
	.endr
	.irp	i, HIGH16
	vmovups	%zmm\i, VECTORS+64*\i(%rcx)
	.endr
	.irp	i, 1, 2, 3, 4, 5, 6, 7
	kmovw	%k\i, MASKS+2*\i(%rcx)
	.endr
	vzeroupper
	leave_function
	.size	selfcheck_spin_avx512, . - selfcheck_spin_avx512

.macro push_register name
	push	%\name
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\name, 0
.endm

.macro pop_register name
	pop	%\name
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\name
.endm

	.globl	selfcheck_call_preserving
	.type	selfcheck_call_preserving, @function
selfcheck_call_preserving:
	.cfi_startproc
	push_register rbx
	push_register rbp
	push_register r12
	push_register r13
	push_register r14
	push_register r15
	push	%rdx			/* ret_wrong; rsp is 16-byte aligned now */
	.cfi_adjust_cfa_offset 8
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	$0x11111111, %ebx
	mov	$0x22222222, %ebp
	mov	$0x33333333, %r12d
	mov	$0x44444444, %r13d
	mov	$0x55555555, %r14d
	mov	$0x66666666, %r15d
	call	*%rax
	xor	$0x11111111, %rbx	/* 0 where the register survived */
	xor	$0x22222222, %rbp
	xor	$0x33333333, %r12
	xor	$0x44444444, %r13
	xor	$0x55555555, %r14
	xor	$0x66666666, %r15
	or	%rbp, %rbx
	or	%r12, %rbx
	or	%r13, %rbx
	or	%r14, %rbx
	or	%r15, %rbx
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	mov	%rbx, (%rdx)
	pop_register r15
	pop_register r14
	pop_register r13
	pop_register r12
	pop_register rbp
	pop_register rbx
	ret
	.cfi_endproc
	.size	selfcheck_call_preserving, . - selfcheck_call_preserving

	.section .note.GNU-stack, "", @progbits
