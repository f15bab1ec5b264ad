/* SPDX-License-Identifier: MIT */
/*
 * shim_quick.S - the short paths of shim_hooks.S, which includes this: calls that need no record,
 * or only a count. Each has its C beside the rules: sample.c, table.c, lost_bits.c, loss.c.
 *
 * A macro that asks goes on if the answer is yes, else to the label that it is given.
 */
	.section .rodata
	.balign	8
hash_factor:
	.quad	HASH_FACTOR
	.text

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

/* register = offset of the line of shim_hash(register), to be masked; by the mask of those lines */
.macro HASH_LINE_OF register
	shr	$4, \register
	imul	hash_factor(%rip), \register
	shr	$HASH_LINE_SHIFT, \register
.endm
.macro HASH_LINE register, mask
	HASH_LINE_OF \register
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

/* Most calls confine nobody: no register is changed, nor is the stack touched. */
.macro QUICK_PRCTL
	cmp	$OPTION_SECCOMP, %edi
	je	.Lslow\@
	cmp	$OPTION_TSC, %edi
	je	.Lslow\@
	cmp	$OPTION_DISPATCH, %edi
	je	.Lslow\@
	jmp	*%r11
.Lslow\@:
.endm
.macro QUICK_SYSCALL
	cmp	$NUMBER_PRCTL, %edi
	je	.Lslow\@
	cmp	$NUMBER_SECCOMP, %edi
	je	.Lslow\@
	jmp	*%r11
.Lslow\@:
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
#define THREAD(field)	CONTROL_THREADS+field(%r10, %rcx)
.macro QUICK_ALLOC size
	cmpl	$MODE_SAMPLE, CONTROL_MODE(%r10)
	jne	.Lslow\@
	mov	%rax, -8(%rsp)
	mov	%rcx, -16(%rsp)
	cmpl	$ISLAND_TLS, ISLAND_INDEX(%r11)
	jl	.Lother\@			/* signed: RING_ISLAND_SPAN, or without a TCB */
	mov	%fs:0, %rax
.Lthread\@:
	mov	%rax, %rcx
	HASH_LINE %rcx, CONTROL_THREAD_MASK	/* slot = THREAD() */
	cmp	%rax, THREAD(THREAD_OWNER)
	jne	.Lrestore\@
	mov	CONTROL_INTERVAL(%r10), %rax
	cmp	%rax, THREAD(THREAD_INTERVAL)
	jne	.Lrestore\@
	mov	CONTROL_DEADLINE(%r10), %rax
	mov	%rax, THREAD(THREAD_USED)
	SIZE_\size .Lrestore\@
	test	%rax, %rax
	jle	.Lrestore\@			/* 0 counts as 1; 2^63 fails: leave both to C */
	sub	%rax, THREAD(THREAD_COUNTDOWN)
	jle	.Lsampled\@
	mov	-16(%rsp), %rcx
	mov	-8(%rsp), %rax
	jmp	*%r11
.Lother\@:
	cmpl	$0, ISLAND_INDEX(%r11)
	js	.Lrestore\@			/* RING_ISLAND_SPAN */
	THREAD_POINTER %rax
	jmp	.Lthread\@
.Lsampled\@:
	add	%rax, THREAD(THREAD_COUNTDOWN)
.Lrestore\@:
	mov	-16(%rsp), %rcx
	mov	-8(%rsp), %rax
.Lslow\@:
.endm

/*
 * Is pointer that of a sampled block (table.c has it in C)? Then on at \found. No: nothing is
 * marked there, or one other block (marks_abi.h), or it is none of the eight addresses of its
 * bucket. Changes rax, and the word at -16(%rsp). r10 = control. pre: not NULL, which free places
 * of the table look like.
 */
.macro IF_IN_TABLE pointer, found
	mov	%rcx, -16(%rsp)
	mov	%\pointer, %rcx
	shr	$MARK_SHIFT, %rcx
	movzwl	%cx, %ecx
	movzbl	CONTROL_MARKS(%r10, %rcx), %ecx
	test	%ecx, %ecx
	jz	.Lno\@
	mov	%\pointer, %rax
	shr	$4, %rax
	imul	hash_factor(%rip), %rax
	test	%cl, %cl
	js	.Lbucket\@			/* several */
	xor	$MARK_PRINT, %ecx
	shl	$MARK_PRINT_SHIFT, %rcx
	xor	%rax, %rcx
	shr	$MARK_PRINT_SHIFT, %rcx
	jnz	.Lno\@				/* another's print */
.Lbucket\@:
	shr	$HASH_LINE_SHIFT, %rax
	and	CONTROL_TABLE_MASK(%r10), %rax
	add	%r10, %rax
	add	CONTROL_TABLE_OFFSET(%r10), %rax	/* rax = bucket, one cache line */
	mov	-16(%rsp), %rcx
	.irp	slot, 0, 1, 2, 3, 4, 5, 6, 7
	cmp	%\pointer, 8*\slot(%rax)
	je	\found
	.endr
.Lno\@:
	mov	-16(%rsp), %rcx
.endm

/*
 * Is address that of a block that was lost, in a call that nothing is nested about, and has this
 * thread a lane at the first place? Then on, with rcx = lane - control. (lost_bits.c, nested.h and
 * loss.c have it in C, and know the rest.) Changes rax, rcx, rdx. caller: offset of the return
 * address from rsp. r10 = control, r11 = original.
 */
.macro FIND_LOST address, caller, otherwise
	mov	%\address, %rax
	mov	%\address, %rcx
	mov	%\address, %rdx
	shr	$ARENA_SHIFT, %rax
	cmp	$(1 << (ADDRESS_BITS - ARENA_SHIFT)), %rax
	jae	\otherwise
	imul	hash_factor(%rip), %rax
	shr	$HASH_SHIFT, %rax
	shr	$GROUP_SHIFT, %rcx
	xor	%rcx, %rax
	and	CONTROL_LOST_MASK(%r10), %rax
	lea	(%r10, %rax, 8), %rax
	add	CONTROL_LOST_OFFSET(%r10), %rax
	mov	(%rax), %rax			/* the word */
	shr	$GRANULE_SHIFT, %edx
	bt	%edx, %eax
	jnc	\otherwise
	shr	$32, %rax
	shr	$PLACE_SHIFT, %rcx
	cmp	%ecx, %eax
	jne	\otherwise
	test	$((1 << GRANULE_SHIFT) - 1), %\address
	jnz	\otherwise
	mov	\caller(%rsp), %rax
	cmp	CONTROL_CALLERS(%r10), %rax
	jb	.Loutside\@
	cmp	CONTROL_CALLERS+8(%r10), %rax
	jb	\otherwise
.Loutside\@:
	cmp	shim_root_page+ROOT_SHIM_LOW(%rip), %rax
	jb	.Lprogram\@
	cmp	shim_root_page+ROOT_SHIM_HIGH(%rip), %rax
	jb	\otherwise
.Lprogram\@:
	THREAD_POINTER %rax
	test	%rax, %rax
	jz	\otherwise
	mov	%rax, %rcx
	HASH_LINE_OF %rcx
	and	$((LANES - 1) << LINE_SHIFT), %ecx
	cmp	%rax, CONTROL_LANES+LANE_OWNER(%r10, %rcx)
	jne	\otherwise
.endm

/*
 * Exact mode without a log of calls, and there is, or was, pressure? Changes nothing.
 * r10 = control.
 */
.macro IF_PRESSED otherwise
	cmpl	$0, CONTROL_PRESSED(%r10)
	je	\otherwise
	cmpl	$MODE_ALL, CONTROL_MODE(%r10)
	jne	\otherwise
	cmpl	$0, CONTROL_CALLS(%r10)
	jne	\otherwise
	cmpl	$0, CONTROL_OUTERS(%r10)
	jne	\otherwise			/* nested calls can't be told here (outer.c) */
	cmpq	$0, CONTROL_LOST_OFFSET(%r10)
	je	\otherwise
.endm

/* The epoch has not lapsed. Changes register. r10 = control. */
.macro IF_OPEN register, otherwise
	mov	CONTROL_LAPSED(%r10), \register
	cmp	CONTROL_EPOCH(%r10), \register
	jae	\otherwise
.endm

/* Exact mode: the free of a block that was lost is counted, and that is all (record_free()). */
.macro LOST_FREE pointer
	IF_PRESSED .Lslow\@
	cmpl	$0, ISLAND_INDEX(%r11)
	js	.Lslow\@			/* RING_ISLAND_SPAN */
	mov	%rax, -8(%rsp)
	mov	%rcx, -16(%rsp)
	mov	%rdx, -24(%rsp)
	IF_OPEN %rax, .Lrestore\@
	FIND_LOST \pointer, 0, .Lrestore\@
	addq	$1, CONTROL_LANES+LANE_LOST_FREE(%r10, %rcx)
	mov	-24(%rsp), %rdx
	mov	-16(%rsp), %rcx
	mov	-8(%rsp), %rax
	jmp	*%r11
.Lrestore\@:
	mov	-24(%rsp), %rdx
	mov	-16(%rsp), %rcx
	mov	-8(%rsp), %rax
.Lslow\@:
.endm

/* A free of NULL, unless every call is wanted, or of a block that was not sampled, or was lost. */
.macro QUICK_FREE pointer
	test	%\pointer, %\pointer
	jz	.Lnothing\@
	cmpl	$MODE_SAMPLE, CONTROL_MODE(%r10)
	jne	.Lexact\@
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
	jmp	.Lslow\@
.Lexact\@:
	LOST_FREE \pointer
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

/*
 * Is there nothing to be known before the original? In exact mode only a log of calls needs
 * anything. r10 = control.
 */
.macro IF_MADE where
	cmpl	$MODE_ALL, CONTROL_MODE(%r10)
	jne	.Lcount\@
	cmpl	$0, CONTROL_CALLS(%r10)
	jne	.Lrecord\@
	cmpl	$0, ISLAND_INDEX(%r11)
	jns	\where
	jmp	.Lrecord\@
.Lcount\@:
	IF_COUNTED \where
.Lrecord\@:
.endm

/* What was asked for, in rax, from the struct shim_call at rsp. */
.macro ASKED_rdi slow
	mov	CALL_ARGUMENT+0(%rsp), %rax
.endm
.macro ASKED_rsi slow
	mov	CALL_ARGUMENT+8(%rsp), %rax
.endm
.macro ASKED_product slow
	mov	CALL_ARGUMENT+0(%rsp), %rax
	imul	CALL_ARGUMENT+8(%rsp), %rax
	jo	\slow
.endm

/*
 * Exact mode: a block that is lost where the last one was, too (so its bit is set), is counted, and
 * that is all (lose_at_once()). Changes what a call may.
 */
.macro LOST_ALLOC size, done
	testl	$PRESSED, CONTROL_PRESSED(%r10)
	jz	.Lslow\@
	IF_PRESSED .Lslow\@
	IF_OPEN %rcx, .Lslow\@
	mov	%rax, %rdi
	mov	CALL_ORIGINAL(%rsp), %r11
	FIND_LOST rdi, CALL_FRAME_BYTES, .Lslow\@
	mov	CONTROL_LANES+LANE_LOST_ALLOC(%r10, %rcx), %eax
	not	%eax
	test	$(LOSSES_A_LOOK - 1), %eax
	jz	.Lslow\@			/* C looks at the clock */
	ASKED_\size .Lslow\@
	add	%rax, CONTROL_LANES+LANE_LOST_ALLOC_BYTES(%r10, %rcx)
	addq	$1, CONTROL_LANES+LANE_LOST_ALLOC(%r10, %rcx)
	jmp	\done
.Lslow\@:
.endm
