/* SPDX-License-Identifier: MIT */
/*
 * hook_probe.S - malloc and free of our own libc, called as often as is asked for (hook_cost.c).
 *
 * The way is that of a hooked call: its entry jumps to where hook_probe_to says, an island's slot
 * or, without hooks, the function.
 */
	.hidden	hook_probe_to
	.globl	hook_probe_to
	.comm	hook_probe_to, 16, 16
	.text

.macro PROBE name, to
	.globl	hook_probe_\name
	.globl	hook_probe_plain_\name
	.hidden	hook_probe_\name
	.hidden	hook_probe_plain_\name
	.type	hook_probe_\name, @function
	.type	hook_probe_plain_\name, @function
	.balign	64
hook_probe_\name:
	jmp	*(hook_probe_to + \to)(%rip)
	.balign	64
hook_probe_plain_\name:
	jmp	*\name@GOTPCREL(%rip)
	.size	hook_probe_\name, hook_probe_plain_\name - hook_probe_\name
	.size	hook_probe_plain_\name, . - hook_probe_plain_\name
.endm
	PROBE malloc, 0
	PROBE free, 8

/* void hook_probe_pairs(uint64_t count, allocate, give_back): give_back(allocate(64)), so often */
	.globl	hook_probe_pairs
	.hidden	hook_probe_pairs
	.type	hook_probe_pairs, @function
	.balign	64
hook_probe_pairs:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	mov	%rdi, %rbx
	mov	%rsi, %r12
	mov	%rdx, %r13
.Lagain:
	mov	$64, %edi
	call	*%r12
	mov	%rax, %rdi
	call	*%r13
	dec	%rbx
	jnz	.Lagain
	pop	%r13
	.cfi_adjust_cfa_offset -8
	pop	%r12
	.cfi_adjust_cfa_offset -8
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	hook_probe_pairs, . - hook_probe_pairs

	.section .note.GNU-stack, "", @progbits
