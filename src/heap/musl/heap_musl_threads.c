/* SPDX-License-Identifier: MIT */
/*
 * heap_musl_threads.c - who is in the middle of malloc or free, and with what.
 *
 * The registers of the picture tell: a thread in libc's code that makes no system call, or one of
 * those that the allocator makes, may be inside it. Such a thread may have taken a slot that
 * has no header yet; where the memory is new, that looks just like a block as large as the
 * slot, which nobody holds. But the thread has the group's meta in a register or near the
 * top of its stack, so that those are remembered. Rejected: to unwind its stack up to
 * malloc, which needs names that a stripped libc has not.
 */
#include "src/heap/musl/heap_musl.h"

#include <sys/syscall.h>

#define STACK_WORDS	64u
#define REGISTERS	15u	/* of struct user_regs_struct, from r15 to rdi: general ones */

static bool is_allocators_call(long number)
{
	static const int calls[] = { SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise,
				     SYS_brk, SYS_futex };

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i] == number)
			return true;
	}
	return false;
}

bool musl_is_inside(const struct musl *musl, const struct picture_thread *thread)
{
	const struct user_regs_struct *r = &thread->registers;
	long number = (long)r->orig_rax;

	return r->rip >= musl->code_low && r->rip < musl->code_high &&
	       (number < 0 || is_allocators_call(number));
}

static void note(struct musl *musl, uint64_t word)
{
	uint64_t offset = word % MUSL_PAGE;

	if (musl->at_hand_count < MUSL_MAX_AT_HAND && word >= MUSL_PAGE &&
	    offset >= MUSL_AREA_HEAD && (offset - MUSL_AREA_HEAD) % MUSL_META_BYTES == 0)
		musl->at_hand[musl->at_hand_count++] = word;
}

void musl_look_at_hands(struct musl *musl)
{
	uint64_t words[STACK_WORDS];

	for (size_t i = 0; i < musl->picture->thread_count; i++) {
		const struct picture_thread *thread = &musl->picture->thread[i];
		const unsigned long long *r = (const unsigned long long *)&thread->registers;
		size_t got;

		if (!musl_is_inside(musl, thread))
			continue;
		for (unsigned int k = 0; k < REGISTERS; k++)
			note(musl, r[k]);
		got = picture_read_some(musl->picture, thread->registers.rsp, words,
					sizeof(words)) / 8;
		for (size_t k = 0; k < got; k++)
			note(musl, words[k]);
	}
}
