/* SPDX-License-Identifier: MIT */
/*
 * shim_hooks.S - the hooks: what an island's thunk jumps to, one a calling shape.
 *
 * At entry all argument registers are the caller's, (%rsp) is its return
 * address, r11 the relocated original, -8(%r11) the entry's index. Only r10 may
 * be changed before the original runs (no C or system function takes it);
 * rax too is an argument (of variadic functions).
 *
 * Each hook: no control block (fork child, not armed) -> jmp original, nothing
 * touched. A short path for calls that need no record (shim_quick.S), on the red zone and two
 * or three registers -> jmp original. Else a struct shim_call on the stack and begin() in
 * C; false -> everything put back, jmp original; true -> call original, end()
 * in C, return its result. No frame is left around an original that needs none:
 * nothing of ours is then in the way of unloading.
 *
 * Rejected: letting the compiler save what it clobbers
 * (no_caller_saved_registers): as soon as C calls a function it saves everything,
 * on every path.
 */
#include "inject/arch/x86_64/shim_offsets.h"
#include "inject/arch/x86_64/shim_quick.S"

/*
 * Into the struct shim_call at so many bytes from rsp, and back: what the original may take. The
 * flags stay.
 */
.macro SAVE_ARGUMENTS at=0
	mov	%rdi, \at+CALL_ARGUMENT+0(%rsp)
	mov	%rsi, \at+CALL_ARGUMENT+8(%rsp)
	mov	%rdx, \at+CALL_ARGUMENT+16(%rsp)
	mov	%rcx, \at+CALL_ARGUMENT+24(%rsp)
	mov	%r8, \at+CALL_ARGUMENT+32(%rsp)
	mov	%r9, \at+CALL_ARGUMENT+40(%rsp)
	mov	%rax, \at+CALL_RAX(%rsp)
	mov	%r11, \at+CALL_ORIGINAL(%rsp)
.endm
.macro RESTORE_ARGUMENTS at=0
	mov	\at+CALL_ARGUMENT+0(%rsp), %rdi
	mov	\at+CALL_ARGUMENT+8(%rsp), %rsi
	mov	\at+CALL_ARGUMENT+16(%rsp), %rdx
	mov	\at+CALL_ARGUMENT+24(%rsp), %rcx
	mov	\at+CALL_ARGUMENT+32(%rsp), %r8
	mov	\at+CALL_ARGUMENT+40(%rsp), %r9
	mov	\at+CALL_RAX(%rsp), %rax
	mov	\at+CALL_ORIGINAL(%rsp), %r11
.endm
/* What the original keeps: an unwinder needs them, before it or after. */
.macro SAVE_KEPT at=0
	mov	%rbp, \at+CALL_RBP(%rsp)
	mov	%rbx, \at+CALL_RBX(%rsp)
	mov	%r12, \at+CALL_R12(%rsp)
	mov	%r13, \at+CALL_R13(%rsp)
	mov	%r14, \at+CALL_R14(%rsp)
	mov	%r15, \at+CALL_R15(%rsp)
.endm

/*
 * What the call frame information says behind "sub" and "add" of rsp: whole offsets, because
 * LLVM's assembler takes an adjustment behind .cfi_restore_state from the state before it.
 */
.macro FRAME_SET_UP
	.cfi_def_cfa_offset 8+CALL_FRAME_BYTES
.endm
.macro FRAME_GONE
	.cfi_def_cfa_offset 8
.endm
/*
 * Nothing of ours stays in dead stack. A frame of the program's that comes to lie there, with a
 * part that it has not written yet, would seem to hold what a hook was given: a leak search would
 * find the block still pointed to. And a hook's return address there would look like that of a call
 * under way (inject/quiesce/stack_scan.c).
 */
/* Words from at on. No register changes, nor do the flags. */
.macro WIPE_WORDS at, count
	.set	wiped, \at
	.rept	\count
	movq	$0, wiped(%rsp)
	.set	wiped, wiped + 8
	.endr
.endm
/* Below rsp, where C was. Changes rax, rcx, rdi. */
.macro WIPE_BELOW more
	lea	-WIPE_LONG(%rsp), %rdi
	mov	$((WIPE_LONG + \more) / 8), %ecx
	xor	%eax, %eax
	rep stosq
.endm
/* The same, faster: changes rdi and xmm0, which no call keeps. */
.macro WIPE_BELOW_FAST more=0
	xorps	%xmm0, %xmm0
	lea	-WIPE_LONG(%rsp), %rdi
.Lwipe\@:
	movups	%xmm0, (%rdi)
	movups	%xmm0, 16(%rdi)
	movups	%xmm0, 32(%rdi)
	movups	%xmm0, 48(%rdi)
	add	$64, %rdi
	cmp	%rsp, %rdi
	jb	.Lwipe\@
	WIPE_WORDS 0, (\more / 8)
.endm
/* The frame, and below it what the short ways need. Changes xmm0, which no call keeps. */
.macro WIPE_SHORTLY
	xorps	%xmm0, %xmm0
	.set	wiped, -WIPE_SHORT
	.rept	(WIPE_SHORT + CALL_FRAME_BYTES) / 16
	movups	%xmm0, wiped(%rsp)		/* programs may misalign their stacks */
	.set	wiped, wiped + 16
	.endr
	WIPE_WORDS (CALL_FRAME_BYTES-8), 1
.endm
.macro FRAME_LEAVE
	add	$CALL_FRAME_BYTES, %rsp
	FRAME_GONE
.endm

/* Where a hook begins. */
.macro HOOK_BEGIN name
	.globl	shim_hook_\name
	.type	shim_hook_\name, @function
	.balign	16
shim_hook_\name:
	.cfi_startproc
.endm

/*
 * A hook. quick: a macro of above, its argument, or nothing; begin, end: C functions of shim.h;
 * if, short: a macro that may go to another, which is the shorter way; made: its argument. The call
 * frame information is right at every instruction: exceptions and unwinders pass through.
 */
.macro HOOK name, shape, begin, end, quick, argument, if, short, made
	HOOK_BEGIN \name
	mov	shim_root_page(%rip), %r10	/* control */
	test	%r10, %r10
	jz	.Lpass_\name
	\quick	\argument
	.ifnb	\short
	\if	.Lshort_\name
	.endif
	sub	$CALL_FRAME_BYTES, %rsp		/* struct shim_call; rsp is now 16-aligned */
	FRAME_SET_UP
	SAVE_ARGUMENTS
	SAVE_KEPT
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	\begin				/* begin(call, shape) */
	test	%al, %al
	jz	.Ltail_\name
	RESTORE_ARGUMENTS
	call	*%r11				/* result = original(...) */
	mov	%rax, CALL_RESULT(%rsp)
	mov	%rdx, CALL_RESULT_HIGH(%rsp)
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	\end				/* end(call, shape) */
	mov	CALL_RESULT(%rsp), %rax
	mov	CALL_RESULT_HIGH(%rsp), %rdx
	WIPE_BELOW_FAST CALL_FRAME_BYTES
	FRAME_LEAVE
	ret
.Ltail_\name:
	FRAME_SET_UP
	WIPE_BELOW_FAST				/* no argument of these functions is in xmm0 */
	RESTORE_ARGUMENTS
	WIPE_WORDS 0, (CALL_FRAME_BYTES/8)
	FRAME_LEAVE
.Lpass_\name:
	jmp	*%r11
	.ifnb	\short
.Lshort_\name:
	\short	\shape, \made
	.endif
	.cfi_endproc
	.size	shim_hook_\name, . - shim_hook_\name
.endm

/*
 * An allocation is counted or recorded when it is made, in one call of C: nothing has to be known
 * before but what was asked for. Registers that the original keeps are taken after it.
 */
.macro MADE shape, size
	sub	$CALL_FRAME_BYTES, %rsp
	FRAME_SET_UP
	mov	%rdi, CALL_ARGUMENT+0(%rsp)
	mov	%rsi, CALL_ARGUMENT+8(%rsp)
	mov	%rdx, CALL_ARGUMENT+16(%rsp)
	mov	%r11, CALL_ORIGINAL(%rsp)
	call	*%r11				/* result = original(...) */
	mov	%rax, CALL_RESULT(%rsp)
	mov	%rdx, CALL_RESULT_HIGH(%rsp)
	mov	shim_root_page(%rip), %r10
	test	%r10, %r10
	jz	.Ldone\@
	.ifnc	\size, none
	LOST_ALLOC \size, .Ldone\@
	.endif
	SAVE_KEPT
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	shim_made			/* shim_made(call, shape) */
.Ldone\@:
	mov	CALL_RESULT(%rsp), %rax
	mov	CALL_RESULT_HIGH(%rsp), %rdx
	WIPE_SHORTLY
	FRAME_LEAVE
	ret
.endm

/*
 * A free is counted or recorded before it, likewise in one call of C; no frame is left around the
 * original.
 */
.macro GOES shape, pointer
	sub	$CALL_FRAME_BYTES, %rsp
	FRAME_SET_UP
	SAVE_ARGUMENTS
	SAVE_KEPT
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	shim_goes			/* shim_goes(call, shape) */
	RESTORE_ARGUMENTS
	WIPE_SHORTLY
	FRAME_LEAVE
	jmp	*%r11
.endm

/* For C that goes deeper than the short ways: what it called. */
	.globl	shim_wipe
	.hidden	shim_wipe
	.type	shim_wipe, @function
	.balign	16
shim_wipe:
	.cfi_startproc
	WIPE_BELOW_FAST
	ret
	.cfi_endproc
	.size	shim_wipe, . - shim_wipe

/* All return addresses of hooks lie from here to shim_hooks_high. */
	.globl	shim_hooks_low
shim_hooks_low:
.macro ALLOC_HOOK name, shape, size, made
	HOOK \name, \shape, shim_alloc_begin, shim_alloc_end, QUICK_ALLOC, \size, \
		IF_MADE, MADE, \made
.endm
	ALLOC_HOOK malloc, SHAPE_MALLOC, rdi, rdi
	ALLOC_HOOK calloc, SHAPE_CALLOC, product, product
	ALLOC_HOOK memalign, SHAPE_MEMALIGN, rsi, rsi
	ALLOC_HOOK new_aligned, SHAPE_NEW_ALIGNED, rdi, rdi
	ALLOC_HOOK posix_memalign, SHAPE_POSIX_MEMALIGN, rdx, none	/* it returns no block */
	HOOK realloc, SHAPE_REALLOC, shim_realloc_begin, shim_realloc_end, QUICK_REALLOC, rsi
	HOOK reallocarray, SHAPE_REALLOCARRAY, shim_realloc_begin, shim_realloc_end
	HOOK free, SHAPE_FREE, shim_free_begin, shim_free_end, QUICK_FREE, rdi, \
		IF_MADE, GOES
	HOOK dl_state, SHAPE_DL_STATE, shim_module_begin, shim_module_end
	HOOK prctl, SHAPE_PRCTL, shim_confine_begin, shim_confine_end, QUICK_PRCTL
	HOOK syscall, SHAPE_SYSCALL, shim_confine_begin, shim_confine_end, QUICK_SYSCALL

/*
 * A hook of a function that may have been compiled together with those that call it: an allocator
 * that is none of the known ones, or a function of the program's own. As above, without short
 * paths, but
 * - who calls it may know which registers it changes (gcc -fipa-ra, at -O2, within a file; within
 *   a program with -flto), so every other one, and the flags, are what they were: before the
 *   original as they came, after it as it left them. r10 and r11 come below rsp (island_slots.S),
 *   the original's address is jumped to from there;
 * - begin() of a function of the program's own puts the arguments into malloc's order, so what came
 *   is kept apart;
 * - it may have arguments on the stack: begin() copies what may be some to where it looks for them.
 * From rsp up: arguments on the stack, what SAVE_ARGUMENTS saves, r10, r11 and the flags, the
 * struct shim_call.
 */
#define KEEP_GIVEN	CUSTOM_STACK_BYTES
#define KEEP_R10	(KEEP_GIVEN + CALL_GIVEN_BYTES)
#define KEEP_R11	(KEEP_R10 + 8)
#define KEEP_FLAGS	(KEEP_R10 + 16)
#define KEEP_CALL	(KEEP_R10 + KEEP_REGISTER_BYTES)
#define KEEP_FRAME	(KEEP_CALL + CALL_FRAME_BYTES)
#define KEEP_BELOW(at)	(KEEP_FRAME + at)	/* at from rsp at the function's entry */

/* All that SAVE_ARGUMENTS saves, but for r11 where the original's address stays; r10, flags. */
.macro KEEP_SAVE
	pushfq
	.cfi_adjust_cfa_offset 8
	popq	KEEP_FLAGS(%rsp)
	.cfi_adjust_cfa_offset -8
	mov	%rdi, KEEP_GIVEN+CALL_ARGUMENT+0(%rsp)
	mov	%rsi, KEEP_GIVEN+CALL_ARGUMENT+8(%rsp)
	mov	%rdx, KEEP_GIVEN+CALL_ARGUMENT+16(%rsp)
	mov	%rcx, KEEP_GIVEN+CALL_ARGUMENT+24(%rsp)
	mov	%r8, KEEP_GIVEN+CALL_ARGUMENT+32(%rsp)
	mov	%r9, KEEP_GIVEN+CALL_ARGUMENT+40(%rsp)
	mov	%rax, KEEP_GIVEN+CALL_RAX(%rsp)
.endm
.macro KEEP_RESTORE
	RESTORE_ARGUMENTS KEEP_GIVEN
	mov	KEEP_R10(%rsp), %r10
	mov	KEEP_R11(%rsp), %r11
	pushq	KEEP_FLAGS(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
.endm
/* Likewise, and then out of the frame. The flags stay. */
.macro KEEP_LEAVE
	KEEP_RESTORE
	WIPE_WORDS (KEEP_GIVEN), (CALL_GIVEN_BYTES/8)
	WIPE_WORDS (KEEP_R10), 2
	lea	KEEP_FRAME(%rsp), %rsp
	FRAME_GONE
.endm
/* Where C was, what it got of the caller's stack, and the struct shim_call. */
.macro KEEP_WIPE
	WIPE_BELOW CUSTOM_STACK_BYTES
	lea	KEEP_CALL(%rsp), %rdi
	mov	$(CALL_FRAME_BYTES / 8), %ecx
	rep stosq
.endm

.macro KEEPING_HOOK name, shape, begin, end
	HOOK_BEGIN \name
	lea	-KEEP_FRAME(%rsp), %rsp	/* it is now 16-aligned; the flags stay */
	.cfi_def_cfa_offset 8+KEEP_FRAME
	KEEP_SAVE
	mov	%r11, KEEP_GIVEN+CALL_ORIGINAL(%rsp)
	mov	KEEP_BELOW(ISLAND_R10)(%rsp), %r10
	mov	%r10, KEEP_R10(%rsp)
	mov	KEEP_BELOW(ISLAND_R11)(%rsp), %r10
	mov	%r10, KEEP_R11(%rsp)
	mov	shim_root_page(%rip), %r10	/* control */
	test	%r10, %r10
	jz	.Lpass_\name
	SAVE_ARGUMENTS KEEP_CALL
	SAVE_KEPT KEEP_CALL
	lea	KEEP_CALL(%rsp), %rdi
	mov	$\shape, %esi
	mov	%rsp, %rdx
	call	\begin				/* begin(call, shape, stack) */
	test	%al, %al
	jz	.Ltail_\name
	KEEP_RESTORE
	call	*KEEP_GIVEN+CALL_ORIGINAL(%rsp)	/* result = original(...) */
	mov	%r10, KEEP_R10(%rsp)
	mov	%r11, KEEP_R11(%rsp)
	KEEP_SAVE
	mov	%rax, KEEP_CALL+CALL_RESULT(%rsp)
	mov	%rdx, KEEP_CALL+CALL_RESULT_HIGH(%rsp)
	lea	KEEP_CALL(%rsp), %rdi
	mov	$\shape, %esi
	call	\end				/* end(call, shape) */
	KEEP_WIPE
	KEEP_LEAVE
	ret
.Ltail_\name:
	.cfi_def_cfa_offset 8+KEEP_FRAME
	KEEP_WIPE
.Lpass_\name:
	mov	KEEP_GIVEN+CALL_ORIGINAL(%rsp), %r10
	mov	%r10, KEEP_BELOW(ISLAND_ORIGINAL)(%rsp)
	KEEP_LEAVE
	jmp	*ISLAND_ORIGINAL(%rsp)		/* from the red zone */
	.cfi_endproc
	.size	shim_hook_\name, . - shim_hook_\name
.endm

	KEEPING_HOOK kept_malloc, SHAPE_MALLOC, shim_alloc_begin, shim_alloc_end
	KEEPING_HOOK kept_calloc, SHAPE_CALLOC, shim_alloc_begin, shim_alloc_end
	KEEPING_HOOK kept_memalign, SHAPE_MEMALIGN, shim_alloc_begin, shim_alloc_end
	KEEPING_HOOK kept_new_aligned, SHAPE_NEW_ALIGNED, shim_alloc_begin, shim_alloc_end
	KEEPING_HOOK kept_posix_memalign, SHAPE_POSIX_MEMALIGN, shim_alloc_begin, shim_alloc_end
	KEEPING_HOOK kept_realloc, SHAPE_REALLOC, shim_realloc_begin, shim_realloc_end
	KEEPING_HOOK kept_reallocarray, SHAPE_REALLOCARRAY, shim_realloc_begin, shim_realloc_end
	KEEPING_HOOK kept_free, SHAPE_FREE, shim_free_begin, shim_free_end

/* A return address from here on belongs to a call of the mapping class. */
	.globl	shim_mapping_hooks
	.hidden	shim_mapping_hooks
shim_mapping_hooks:
	HOOK mmap, SHAPE_MMAP, shim_map_begin, shim_map_end
	HOOK munmap, SHAPE_MUNMAP, shim_map_begin, shim_map_end
	HOOK mremap, SHAPE_MREMAP, shim_map_begin, shim_map_end
	HOOK brk, SHAPE_BRK, shim_map_begin, shim_map_end
	HOOK sbrk, SHAPE_SBRK, shim_map_begin, shim_map_end

/* And from here on to one of the program's own functions; the keeper asks for it, too. */
	.globl	shim_custom_hooks
	.hidden	shim_custom_hooks
	.globl	shim_hooks_custom
shim_custom_hooks:
shim_hooks_custom:
	KEEPING_HOOK custom_alloc, SHAPE_CUSTOM_ALLOC, shim_custom_begin, shim_custom_end
	KEEPING_HOOK custom_realloc, SHAPE_CUSTOM_REALLOC, shim_custom_begin, shim_custom_end
	KEEPING_HOOK custom_free, SHAPE_CUSTOM_FREE, shim_custom_begin, shim_custom_end

	.globl	shim_hooks_high
shim_hooks_high:

/*
 * The only writable data, a page of its own: struct shim_root. Two names, so
 * that our own code reaches it without a relocation while others can look it up.
 */
	.section .bss.shim_root, "aw", @nobits
	.balign	4096
	.globl	shim_root
	.type	shim_root, @object
	.size	shim_root, 4096
	.globl	shim_root_page
	.hidden	shim_root_page
shim_root:
shim_root_page:
	.zero	4096

	.section .note.GNU-stack, "", @progbits
