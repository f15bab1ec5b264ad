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
 * touched. A short path for calls that need no record, on the red zone and two
 * registers -> jmp original. Else a struct shim_call on the stack and begin() in
 * C; false -> everything put back, jmp original; true -> call original, end()
 * in C, return its result. No frame is left around an original that needs none:
 * nothing of ours is then in the way of unloading.
 *
 * Rejected: letting the compiler save what it clobbers
 * (no_caller_saved_registers): as soon as C calls a function it saves everything,
 * on every path.
 */
#include "inject/arch/x86_64/shim_offsets.h"

/*
 * The thread pointer: entry has a TCB or !control->thread_pointer ? %fs:0 : rdfsbase.
 * r10 = control, r11 = original.
 */
.macro THREAD_POINTER register
	testl	$ISLAND_TLS, ISLAND_INDEX(%r11)
	jnz	.Lself\@
	cmpl	$0, CONTROL_THREAD_POINTER(%r10)
	je	.Lself\@
	rdfsbase \register
	jmp	.Lknown\@
.Lself\@:
	mov	%fs:0, \register
.Lknown\@:
.endm

/* register = offset of the line of shim_hash(register), by the mask of those lines */
.macro HASH_LINE register, mask
	shr	$4, \register
	imul	hash_factor(%rip), \register
	shr	$HASH_LINE_SHIFT, \register
	and	\mask(%r10), \register
.endm

/* Sizes in rax. They may jump to \slow with nothing changed but rax. */
.macro SIZE_rdi slow
	mov	%rdi, %rax
.endm
.macro SIZE_rsi slow
	mov	%rsi, %rax
.endm
.macro SIZE_rdx slow
	mov	%rdx, %rax
.endm
.macro SIZE_product slow
	mov	%rdi, %rax
	imul	%rsi, %rax
	jo	\slow
.endm

/*
 * An allocation that is not sampled, without a frame (sample.c has it in C):
 *	slot = threads[hash(thread)];
 *	if (slot->owner == thread && slot->interval == control->interval && size > 0) {
 *		slot->used = control->deadline;
 *		if ((slot->countdown -= size) > 0) goto original;
 *		slot->countdown += size;	let C decide
 *	}
 * One instruction counts down and decides, so a signal handler that allocates
 * in between cannot make it miss. r10 = control.
 */
.macro QUICK_ALLOC size
	cmpl	$MODE_SAMPLE, CONTROL_MODE(%r10)
	jne	.Lslow\@
	cmpl	$0, ISLAND_INDEX(%r11)
	js	.Lslow\@			/* RING_ISLAND_SPAN */
	mov	%rax, -8(%rsp)
	mov	%rcx, -16(%rsp)
	THREAD_POINTER %rax
	mov	%rax, %rcx
	HASH_LINE %rcx, CONTROL_THREAD_MASK
	add	%r10, %rcx
	add	CONTROL_THREADS_OFFSET(%r10), %rcx	/* rcx = slot */
	cmp	%rax, THREAD_OWNER(%rcx)
	jne	.Lrestore\@
	mov	CONTROL_INTERVAL(%r10), %rax
	cmp	%rax, THREAD_INTERVAL(%rcx)
	jne	.Lrestore\@
	mov	CONTROL_DEADLINE(%r10), %rax
	mov	%rax, THREAD_USED(%rcx)
	SIZE_\size .Lrestore\@
	test	%rax, %rax
	jle	.Lrestore\@			/* 0 counts as 1; 2^63 fails: leave both to C */
	sub	%rax, THREAD_COUNTDOWN(%rcx)
	jle	.Lsampled\@
	mov	-16(%rsp), %rcx
	mov	-8(%rsp), %rax
	jmp	*%r11
.Lsampled\@:
	add	%rax, THREAD_COUNTDOWN(%rcx)
.Lrestore\@:
	mov	-16(%rsp), %rcx
	mov	-8(%rsp), %rax
.Lslow\@:
.endm

/*
 * Is pointer that of a sampled block (table.c has it in C)? Then on at \found. No: nothing is
 * marked there, or it is none of the eight addresses of its bucket. Changes rax. r10 = control.
 * pre: not NULL, which free places of the table look like.
 */
.macro IF_IN_TABLE pointer, found
	mov	%\pointer, %rax
	shr	$MARK_SHIFT, %rax
	movzwl	%ax, %eax
	cmpb	$0, CONTROL_MARKS(%r10, %rax)
	je	.Lno\@
	mov	%\pointer, %rax
	HASH_LINE %rax, CONTROL_TABLE_MASK
	add	%r10, %rax
	add	CONTROL_TABLE_OFFSET(%r10), %rax	/* rax = bucket, one cache line */
	.irp	slot, 0, 1, 2, 3, 4, 5, 6, 7
	cmp	%\pointer, 8*\slot(%rax)
	je	\found
	.endr
.Lno\@:
.endm

/* A free of NULL, unless every call is wanted, or of a block that was not sampled. */
.macro QUICK_FREE pointer
	test	%\pointer, %\pointer
	jz	.Lnothing\@
	cmpl	$MODE_SAMPLE, CONTROL_MODE(%r10)
	jne	.Lslow\@
	mov	%rax, -8(%rsp)
	IF_IN_TABLE \pointer, .Lfound\@
	mov	-8(%rsp), %rax
	jmp	*%r11
.Lnothing\@:
	cmpl	$0, CONTROL_CALLS(%r10)
	jne	.Lslow\@
	jmp	*%r11
.Lfound\@:
	mov	-8(%rsp), %rax
.Lslow\@:
.endm

/* A realloc of a block (rdi) that was not sampled to one that is not. */
.macro QUICK_REALLOC size
	cmpl	$MODE_SAMPLE, CONTROL_MODE(%r10)
	jne	.Lrecord\@
	test	%rdi, %rdi
	jz	.Lnew\@
	mov	%rax, -8(%rsp)
	IF_IN_TABLE rdi, .Lfound\@
	mov	-8(%rsp), %rax
.Lnew\@:
	QUICK_ALLOC \size
	jmp	.Lrecord\@
.Lfound\@:
	mov	-8(%rsp), %rax
.Lrecord\@:
.endm

/* Only counted, and no jump to another entry (RING_ISLAND_SPAN)? Then to where. r10 = control. */
.macro IF_COUNTED where
	cmpl	$MODE_COUNT, CONTROL_MODE(%r10)
	jne	.Lrecord\@
	cmpl	$0, ISLAND_INDEX(%r11)
	jns	\where
.Lrecord\@:
.endm

	.section .rodata
	.balign	8
hash_factor:
	.quad	HASH_FACTOR
	.text

/* Into the struct shim_call at rsp, and back: what the original may take. The flags stay. */
.macro SAVE_ARGUMENTS
	mov	%rdi, CALL_ARGUMENT+0(%rsp)
	mov	%rsi, CALL_ARGUMENT+8(%rsp)
	mov	%rdx, CALL_ARGUMENT+16(%rsp)
	mov	%rcx, CALL_ARGUMENT+24(%rsp)
	mov	%r8, CALL_ARGUMENT+32(%rsp)
	mov	%r9, CALL_ARGUMENT+40(%rsp)
	mov	%rax, CALL_RAX(%rsp)
	mov	%r11, CALL_ORIGINAL(%rsp)
.endm
.macro RESTORE_ARGUMENTS
	mov	CALL_ARGUMENT+0(%rsp), %rdi
	mov	CALL_ARGUMENT+8(%rsp), %rsi
	mov	CALL_ARGUMENT+16(%rsp), %rdx
	mov	CALL_ARGUMENT+24(%rsp), %rcx
	mov	CALL_ARGUMENT+32(%rsp), %r8
	mov	CALL_ARGUMENT+40(%rsp), %r9
	mov	CALL_RAX(%rsp), %rax
	mov	CALL_ORIGINAL(%rsp), %r11
.endm
/* What the original keeps: an unwinder needs them, before it or after. */
.macro SAVE_KEPT
	mov	%rbp, CALL_RBP(%rsp)
	mov	%rbx, CALL_RBX(%rsp)
	mov	%r12, CALL_R12(%rsp)
	mov	%r13, CALL_R13(%rsp)
	mov	%r14, CALL_R14(%rsp)
	mov	%r15, CALL_R15(%rsp)
.endm

/*
 * A hook. quick: a macro of above, its argument, or nothing; begin, end: C
 * functions of shim.h. The call frame information is right at every instruction:
 * exceptions and unwinders pass through.
 */
.macro HOOK name, shape, begin, end, quick, argument, count
	.globl	shim_hook_\name
	.type	shim_hook_\name, @function
	.balign	16
shim_hook_\name:
	.cfi_startproc
	mov	shim_root_page(%rip), %r10	/* control */
	test	%r10, %r10
	jz	.Lpass_\name
	\quick	\argument
	.ifnb	\count
	IF_COUNTED .Lcount_\name
	.endif
	sub	$CALL_FRAME_BYTES, %rsp		/* struct shim_call; rsp is now 16-aligned */
	.cfi_adjust_cfa_offset CALL_FRAME_BYTES
	SAVE_ARGUMENTS
	SAVE_KEPT
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	\begin				/* begin(call, shape) */
	test	%al, %al
	RESTORE_ARGUMENTS
	jz	.Ltail_\name
	call	*%r11				/* result = original(...) */
	mov	%rax, CALL_RESULT(%rsp)
	mov	%rdx, CALL_RESULT_HIGH(%rsp)
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	\end				/* end(call, shape) */
	mov	CALL_RESULT(%rsp), %rax
	mov	CALL_RESULT_HIGH(%rsp), %rdx
	add	$CALL_FRAME_BYTES, %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -CALL_FRAME_BYTES
	ret
.Ltail_\name:
	.cfi_restore_state
	add	$CALL_FRAME_BYTES, %rsp
	.cfi_adjust_cfa_offset -CALL_FRAME_BYTES
.Lpass_\name:
	jmp	*%r11
	.ifnb	\count
.Lcount_\name:
	\count	\shape
	.endif
	.cfi_endproc
	.size	shim_hook_\name, . - shim_hook_\name
.endm

/*
 * RING_MODE_COUNT: an allocation is counted when it is made, in one call of C: nothing has to be
 * known before but what was asked for. Registers that the original keeps are taken after it.
 */
.macro COUNT_ALLOC shape
	sub	$CALL_FRAME_BYTES, %rsp
	.cfi_adjust_cfa_offset CALL_FRAME_BYTES
	mov	%rdi, CALL_ARGUMENT+0(%rsp)
	mov	%rsi, CALL_ARGUMENT+8(%rsp)
	mov	%rdx, CALL_ARGUMENT+16(%rsp)
	mov	%r11, CALL_ORIGINAL(%rsp)
	call	*%r11				/* result = original(...) */
	mov	%rax, CALL_RESULT(%rsp)
	mov	%rdx, CALL_RESULT_HIGH(%rsp)
	SAVE_KEPT
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	shim_count_made			/* shim_count_made(call, shape) */
	mov	CALL_RESULT(%rsp), %rax
	mov	CALL_RESULT_HIGH(%rsp), %rdx
	add	$CALL_FRAME_BYTES, %rsp
	.cfi_adjust_cfa_offset -CALL_FRAME_BYTES
	ret
.endm

/* The same for a free, which is counted before it; no frame is left around the original. */
.macro COUNT_FREE shape
	sub	$CALL_FRAME_BYTES, %rsp
	.cfi_adjust_cfa_offset CALL_FRAME_BYTES
	SAVE_ARGUMENTS
	mov	%rsp, %rdi
	mov	$\shape, %esi
	call	shim_count_goes			/* shim_count_goes(call, shape) */
	RESTORE_ARGUMENTS
	add	$CALL_FRAME_BYTES, %rsp
	.cfi_adjust_cfa_offset -CALL_FRAME_BYTES
	jmp	*%r11
.endm

.macro ALLOC_HOOK name, shape, size
	HOOK \name, \shape, shim_alloc_begin, shim_alloc_end, QUICK_ALLOC, \size, COUNT_ALLOC
.endm
	ALLOC_HOOK malloc, SHAPE_MALLOC, rdi
	ALLOC_HOOK calloc, SHAPE_CALLOC, product
	ALLOC_HOOK memalign, SHAPE_MEMALIGN, rsi
	ALLOC_HOOK new_aligned, SHAPE_NEW_ALIGNED, rdi
	ALLOC_HOOK posix_memalign, SHAPE_POSIX_MEMALIGN, rdx
	HOOK realloc, SHAPE_REALLOC, shim_realloc_begin, shim_realloc_end, QUICK_REALLOC, rsi
	HOOK reallocarray, SHAPE_REALLOCARRAY, shim_realloc_begin, shim_realloc_end
	HOOK free, SHAPE_FREE, shim_free_begin, shim_free_end, QUICK_FREE, rdi, COUNT_FREE
	HOOK dl_state, SHAPE_DL_STATE, shim_module_begin, shim_module_end

/* A return address from here on belongs to a call of the mapping class. */
	.globl	shim_mapping_hooks
	.hidden	shim_mapping_hooks
shim_mapping_hooks:
	HOOK mmap, SHAPE_MMAP, shim_map_begin, shim_map_end
	HOOK munmap, SHAPE_MUNMAP, shim_map_begin, shim_map_end
	HOOK mremap, SHAPE_MREMAP, shim_map_begin, shim_map_end
	HOOK brk, SHAPE_BRK, shim_map_begin, shim_map_end
	HOOK sbrk, SHAPE_SBRK, shim_map_begin, shim_map_end

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
