/* SPDX-License-Identifier: MIT */
/*
 * island_slots.S - what lies in a slot of an island (struct ring_island_entry): island_code.c
 * copies one of these and fills in what a target's addresses decide.
 *
 * Every slot's code ends in the thunk: r11 = original, on to the hook of the shim, which knows all
 * that is said about a hook in shim_hooks.S. Slots of functions that are called all the time have
 * the shortest path in front of it: a sampled session's calls that need no record never leave the
 * island. They are the same questions as in shim_quick.S, which answers them again for who comes
 * by the thunk. Only r10 and r11 may be changed, nothing is kept on the stack, and the one word
 * that is written is the count-down. (ring_thread.used is not: threads.c.)
 *
 * All references but that to the root page lie within the slot, so that a copy runs anywhere.
 * Rejected: these paths in the shim alone. Two jumps more, both through memory or a register, to
 * lines that a busy server has lost since its last call: of a redis it took 2 % of the time.
 */
#include "inject/arch/x86_64/shim_offsets.h"

	.section .rodata.island_slots, "a", @progbits

#define SLOT_ORIGINAL	16	/* offsetof(struct ring_island_entry, original) */
#define SLOT_CODE	64
#define SLOT_BYTES	256

/* The head: bytes that island_code.c fills in. */
.macro SLOT_BEGIN name
	.balign	SLOT_BYTES, 0xcc
	.globl	island_slot_\name
	.hidden	island_slot_\name
	.type	island_slot_\name, @object
	.size	island_slot_\name, SLOT_BYTES
island_slot_\name:
	.fill	SLOT_CODE, 1, 0xcc
.endm

/* The tail: lea original(%rip), %r11; jmp *hook(%rip) */
.macro SLOT_END name
.Lthunk_\name:
	lea	island_slot_\name + SLOT_ORIGINAL(%rip), %r11
	jmp	*island_slot_\name(%rip)
	.org	island_slot_\name + SLOT_BYTES, 0xcc	/* an error if there is more than that */
.endm

/*
 * r10 = control. A fork child has none: to the original. The address of the root page is filled
 * in. The mode is not asked for: these slots are for sessions that sample, and before and after,
 * when it is RING_MODE_OFF, the original is right, and the hook, too.
 */
.macro CONTROL name
	.globl	island_root_\name
	.hidden	island_root_\name
	movabs	$0x7fffffffffffffff, %r10
island_root_\name = . - 8
	mov	(%r10), %r10
	test	%r10, %r10
	jz	island_slot_\name + SLOT_ORIGINAL
.endm

/* "equal": no live sampled block is marked where pointer is. Changes r11. r10 = control. */
.macro IS_MARKED pointer
	mov	%\pointer, %r11
	shr	$MARK_SHIFT, %r11
	movzwl	%r11w, %r11d
	cmpb	$0, CONTROL_MARKS(%r10, %r11)
.endm

/* r11 = offset of the thread's slot, not masked yet. pre: a TCB (RING_ISLAND_TLS). Changes r10. */
.macro THREAD_PLACE
	mov	%fs:0, %r11
	shr	$4, %r11
	movabs	$HASH_FACTOR, %r10
	imul	%r10, %r11
	shr	$HASH_LINE_SHIFT, %r11
.endm

/* An allocation of so many bytes, in a register but r10 and r11 or as a product. */
#define THREAD(field)	CONTROL_THREADS+field(%r11)
.macro COUNT_DOWN name, size
	and	CONTROL_THREAD_MASK(%r10), %r11
	add	%r10, %r11			/* slot = THREAD() */
	mov	CONTROL_INTERVAL(%r10), %r10
	cmp	%r10, THREAD(THREAD_INTERVAL)
	jne	.Lthunk_\name
	mov	%fs:0, %r10
	cmp	%r10, THREAD(THREAD_OWNER)
	jne	.Lthunk_\name
	.ifc	\size, product
	mov	%rdi, %r10
	imul	%rsi, %r10
	jo	.Lthunk_\name
	test	%r10, %r10
	jle	.Lthunk_\name
	sub	%r10, THREAD(THREAD_COUNTDOWN)
	jg	island_slot_\name + SLOT_ORIGINAL
	add	%r10, THREAD(THREAD_COUNTDOWN)
	.else
	test	%\size, %\size
	jle	.Lthunk_\name			/* 0 counts as 1; 2^63 fails: leave both to C */
	sub	%\size, THREAD(THREAD_COUNTDOWN)
	jg	island_slot_\name + SLOT_ORIGINAL
	add	%\size, THREAD(THREAD_COUNTDOWN)	/* let C decide */
	.endif
.endm

.macro ALLOC_SLOT name, size
	SLOT_BEGIN \name
	THREAD_PLACE
	CONTROL \name
	COUNT_DOWN \name, \size
	SLOT_END \name
.endm

	ALLOC_SLOT malloc, rdi
	ALLOC_SLOT calloc, product
	ALLOC_SLOT memalign, rsi
	ALLOC_SLOT posix_memalign, rdx

/* r10 is control by then, for the marks: the factor has to come from memory. */
	SLOT_BEGIN realloc
	CONTROL realloc
	IS_MARKED rdi
	jne	.Lthunk_realloc
	mov	%fs:0, %r11
	shr	$4, %r11
	imul	hash_of_realloc(%rip), %r11
	shr	$HASH_LINE_SHIFT, %r11
	COUNT_DOWN realloc, rsi
.Lthunk_realloc:
	lea	island_slot_realloc + SLOT_ORIGINAL(%rip), %r11
	jmp	*island_slot_realloc(%rip)
	.balign	8, 0xcc
hash_of_realloc:
	.quad	HASH_FACTOR
	.org	island_slot_realloc + SLOT_BYTES, 0xcc

	SLOT_BEGIN free
	CONTROL free
	IS_MARKED rdi
	je	island_slot_free + SLOT_ORIGINAL
	SLOT_END free

/* The hook alone. */
	SLOT_BEGIN thunk
	SLOT_END thunk

/* The same where no register is free (KEEPING_HOOK in shim_hooks.S). */
	SLOT_BEGIN keeping
	mov	%r10, ISLAND_R10(%rsp)
	mov	%r11, ISLAND_R11(%rsp)
	SLOT_END keeping

	.section .note.GNU-stack, "", @progbits
