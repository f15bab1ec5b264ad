/* SPDX-License-Identifier: MIT */
/*
 * frame.h - a signal frame that takes a thread back to where it was.
 *
 * Laid out as the kernel's rt_sigreturn reads it (arch/x86/kernel/signal_64.c,
 * struct rt_sigframe). The thread reaches it by a plain `ret` to __restore_rt,
 * which needs nobody's help: that is what makes our death harmless.
 */
#ifndef MEMATTACH_FRAME_H
#define MEMATTACH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "src/base/cleanup.h"

#define FRAME_RED_ZONE		128u
#define FRAME_SCRATCH_BYTES	512u	/* for arguments of calls: names, masks */
#define FRAME_MAX_BYTES		(20u * 1024u)

struct frame_input {
	const struct user_regs_struct *registers;	/* what the thread gets back */
	uint64_t below;		/* where it may lie, below a red zone: registers->rsp, or other */
	const void *xstate;				/* as NT_X86_XSTATE gives it */
	size_t xstate_bytes;
	uint64_t signal_mask;
	uint64_t restorer;	/* address of __restore_rt in the target */
};
struct frame_image {
	uint64_t address;	/* where bytes belong; [address] holds the restorer's address */
	uint64_t scratch;	/* FRAME_SCRATCH_BYTES above the frame, below the red zone */
	size_t bytes;
	uint8_t data[FRAME_MAX_BYTES];
};

/*
 * Builds the frame for where a stack pointer of `below` may go down. At address,
 * rsp % 16 == 8, as at the entry of a function. 0, -E2BIG (extended state too large), -EINVAL.
 */
int frame_build(const struct frame_input *input, struct frame_image *ret) _must_check_;

/*
 * One that was built for `below` and written, in data, which was read from the addresses from low
 * on: its address, or 0. pre: below - low is how many bytes data has.
 */
uint64_t frame_find(const uint8_t *data, uint64_t low, uint64_t below);

/*
 * Finding the kernel's own signal frames on a stack: the word that holds cs, gs, fs and ss of
 * struct sigcontext_64, which no other word is likely to equal. fs and gs are 0 there; Xen's PV
 * guests have their own values of cs and ss. The interrupted rsp and rip lie so many bytes
 * before it.
 */
#define FRAME_SELECTORS_AFTER_SP 24u
#define FRAME_SELECTORS_AFTER_IP 16u
static inline bool frame_is_selectors(uint64_t word)
{
	return (word & 0x0fffffffffff0fffull) == 0x002b000000000033ull;
}

#endif
