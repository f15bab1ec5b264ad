/* SPDX-License-Identifier: MIT */
/*
 * frame.c - see frame.h. From high to low addresses:
 *
 *	rsp of the thread
 *	red zone (128 bytes, not touched)
 *	scratch for call arguments
 *	extended state, 64-byte aligned, with the kernel's magic words
 *	struct rt_sigframe: restorer's address, ucontext, siginfo
 *
 * uc_stack carries an invalid ss_flags, which makes the kernel leave the
 * alternate stack as it is instead of setting ours. uc_flags says that FP
 * state is extended and that ss is valid and strict. A frame without FP state
 * would reset the FPU, so there always is one.
 */
#include "inject/arch/x86_64/frame.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>

/* asm/sigcontext.h and asm/ucontext.h clash with glibc's headers, hence our own names. */
struct frame_context {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2, fpstate, reserved[8];
};
struct frame_ucontext {
	uint64_t flags, link;
	uint64_t stack_address;
	uint32_t stack_flags, pad;
	uint64_t stack_bytes;
	struct frame_context context;
	uint64_t signal_mask;
};
struct frame_layout {
	uint64_t restorer;
	struct frame_ucontext ucontext;
	uint8_t siginfo[128];
};
_Static_assert(sizeof(struct frame_context) == 256, "struct sigcontext_64");
_Static_assert(offsetof(struct frame_context, cs) - offsetof(struct frame_context, rsp) ==
		       FRAME_SELECTORS_AFTER_SP, "struct sigcontext_64");
_Static_assert(offsetof(struct frame_ucontext, signal_mask) == 296, "struct ucontext");

enum {
	UC_FLAGS = 1 | 2 | 4,		/* UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
	INVALID_STACK_FLAGS = 0x1234,
	XSTATE_SOFTWARE = 464,		/* offset of struct _fpx_sw_bytes in the legacy area */
	XSTATE_SOFTWARE_BYTES = 48,
	XSTATE_HEADER = 512,
	XSTATE_MIN = 512 + 64,
	XSTATE_ALIGN = 64,
};
#define XFEATURES_ON_REQUEST (1ull << 18)
#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u

static void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof(value)); }

/* ptrace puts the enabled features (xfeatures mask) first into the software bytes. */
static uint64_t enabled_features(const struct frame_input *input)
{
	uint64_t features;

	memcpy(&features, (const uint8_t *)input->xstate + XSTATE_SOFTWARE, sizeof(features));
	return features;
}

/*
 * The kernel takes no frame whose state is larger than what the process may use, and restores
 * SSE alone then (check_xstate_in_sigframe). ptrace gives the size for all features: those that
 * a process has to ask for (AMX's tile data) go unless they are in use.
 */
static uint64_t usable_features(const struct frame_input *input)
{
	uint64_t in_use;

	memcpy(&in_use, (const uint8_t *)input->xstate + XSTATE_HEADER, sizeof(in_use));
	return enabled_features(input) & ~(XFEATURES_ON_REQUEST & ~in_use);
}

static size_t usable_bytes(const struct frame_input *input, uint64_t features)
{
	size_t bytes = XSTATE_MIN;

	if (features == enabled_features(input))
		return input->xstate_bytes;
	for (unsigned int i = 2; i < 63; i++) {
		unsigned int size, offset, c, d;

		if (features >> i & 1 && __get_cpuid_count(0xd, i, &size, &offset, &c, &d) &&
		    offset + size > bytes)
			bytes = offset + size;
	}
	return bytes < input->xstate_bytes ? bytes : input->xstate_bytes;
}

static void fill_xstate(uint8_t *to, const void *xstate, size_t bytes, uint64_t features)
{
	memcpy(to, xstate, bytes);
	memset(to + XSTATE_SOFTWARE, 0, XSTATE_SOFTWARE_BYTES);
	put32(to + XSTATE_SOFTWARE, XSTATE_MAGIC1);
	put32(to + XSTATE_SOFTWARE + 4, (uint32_t)bytes + 4);
	memcpy(to + XSTATE_SOFTWARE + 8, &features, sizeof(features));
	put32(to + XSTATE_SOFTWARE + 16, (uint32_t)bytes);
	put32(to + bytes, XSTATE_MAGIC2);
}

static struct frame_context context_of(const struct user_regs_struct *r, uint64_t fpstate)
{
	return (struct frame_context){
		.r8 = r->r8, .r9 = r->r9, .r10 = r->r10, .r11 = r->r11,
		.r12 = r->r12, .r13 = r->r13, .r14 = r->r14, .r15 = r->r15,
		.rdi = r->rdi, .rsi = r->rsi, .rbp = r->rbp, .rbx = r->rbx,
		.rdx = r->rdx, .rax = r->rax, .rcx = r->rcx, .rsp = r->rsp,
		.rip = r->rip, .eflags = r->eflags,
		.cs = (uint16_t)r->cs, .ss = (uint16_t)r->ss, .fpstate = fpstate,
	};
}

static uint64_t scratch_below(uint64_t below)
{
	return (below - FRAME_RED_ZONE - FRAME_SCRATCH_BYTES) & ~15ull;
}

static uint64_t fpstate_below(uint64_t scratch, uint64_t bytes)
{
	return (scratch - bytes - 4) & ~(uint64_t)(XSTATE_ALIGN - 1);
}

static uint64_t address_below(uint64_t fpstate)
{
	return ((fpstate - sizeof(struct frame_layout)) & ~15ull) - 8;
}

/* Is it what is built for an extended state that begins at fpstate? */
static bool is_built(const uint8_t *data, uint64_t fpstate, uint64_t scratch)
{
	const uint8_t *state = data + (fpstate - address_below(fpstate));
	struct frame_layout layout;
	uint32_t magic, bytes;

	memcpy(&layout, data, sizeof(layout));
	memcpy(&magic, state + XSTATE_SOFTWARE, sizeof(magic));
	memcpy(&bytes, state + XSTATE_SOFTWARE + 16, sizeof(bytes));
	return layout.ucontext.flags == UC_FLAGS &&
	       layout.ucontext.stack_flags == INVALID_STACK_FLAGS && magic == XSTATE_MAGIC1 &&
	       layout.ucontext.context.fpstate == fpstate &&
	       fpstate_below(scratch, bytes) == fpstate;
}

uint64_t frame_find(const uint8_t *data, uint64_t low, uint64_t below)
{
	uint64_t scratch = scratch_below(below), fpstate, address;

	for (size_t bytes = XSTATE_MIN; bytes < FRAME_MAX_BYTES; bytes += XSTATE_ALIGN) {
		fpstate = fpstate_below(scratch, bytes);
		address = address_below(fpstate);
		if (address < low || address > below)
			return 0;
		if (is_built(data + (address - low), fpstate, scratch))
			return address;
	}
	return 0;
}

int frame_build(const struct frame_input *input, struct frame_image *ret)
{
	const struct user_regs_struct *r = input->registers;
	struct frame_layout *layout = (struct frame_layout *)(void *)ret->data;
	uint64_t fpstate, address, features;
	size_t bytes;

	if (input->xstate_bytes < XSTATE_MIN)
		return -EINVAL;
	features = usable_features(input);
	bytes = usable_bytes(input, features);
	ret->scratch = scratch_below(input->below);
	fpstate = fpstate_below(ret->scratch, bytes);
	address = address_below(fpstate);
	ret->address = address;
	ret->bytes = (size_t)(fpstate - address) + bytes + 4;
	if (ret->bytes > sizeof(ret->data))
		return -E2BIG;
	memset(ret->data, 0, ret->bytes);
	layout->restorer = input->restorer;
	layout->ucontext.flags = UC_FLAGS;
	layout->ucontext.stack_flags = INVALID_STACK_FLAGS;
	layout->ucontext.context = context_of(r, fpstate);
	layout->ucontext.signal_mask = input->signal_mask;
	fill_xstate(ret->data + (fpstate - address), input->xstate, bytes, features);
	return 0;
}
