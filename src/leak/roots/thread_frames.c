/* SPDX-License-Identifier: MIT */
/*
 * thread_frames.c - see thread_frames.h.
 *
 * By libdw's rules (cfi_rule.c), read from the picture as it goes. unwind.c was rejected:
 * it wants a copy of the stack and modules that it may change. locals.c walks by the same rules,
 * but remembers for each frame where its registers are, which costs it more than is needed here.
 */
#include "src/leak/roots/thread_frames.h"

#include <string.h>

struct frame_at {
	uint64_t pc;
	uint64_t value[CFI_REGISTERS];
};

static void first_frame(const struct user_regs_struct *registers, struct frame_at *ret)
{
	const uint64_t value[CFI_REGISTERS] = {
		[CFI_RIP] = registers->rip, [CFI_RSP] = registers->rsp,
		[CFI_RBP] = registers->rbp, [CFI_RBX] = registers->rbx,
		[CFI_R12] = registers->r12, [CFI_R13] = registers->r13,
		[CFI_R14] = registers->r14, [CFI_R15] = registers->r15,
	};

	ret->pc = registers->rip;
	memcpy(ret->value, value, sizeof(value));
}

static uint64_t restored(const struct picture *picture, const struct frame_at *frame,
			 const struct cfi_place *place, uint64_t cfa, enum cfi_register which)
{
	switch (place->where) {
	case CFI_AT_CFA:
		return picture_word(picture, cfa + (uint64_t)place->offset);
	case CFI_AT_REGISTER:
		return picture_word(picture,
				    frame->value[place->base] + (uint64_t)place->offset);
	case CFI_IS_CFA:
		return cfa + (uint64_t)place->offset;
	case CFI_SAME:
	case CFI_UNDEFINED:
		break;
	}
	return frame->value[which];
}

/* Makes frame its caller's; false: it was the last one, or nothing is known. */
static bool leave(const struct picture *picture, const struct modules *modules,
		  struct cfi_rules *rules, struct frame_at *frame)
{
	const struct module *module = modules_find(modules, frame->pc);
	struct frame_at caller;
	struct cfi_rule rule;
	uint64_t cfa;

	if (!module || cfi_rules_find(rules, module, frame->pc - module->bias, &rule) < 0 ||
	    rule.place[CFI_RIP].where == CFI_UNDEFINED)
		return false;
	cfa = frame->value[rule.cfa_base] + (uint64_t)rule.cfa_offset;
	if (rule.cfa_deref)
		cfa = picture_word(picture, cfa) + (uint64_t)rule.cfa_add;
	if (!rule.signal && cfa <= frame->value[CFI_RSP])
		return false;
	for (enum cfi_register i = CFI_RIP; i < CFI_REGISTERS; i++)
		caller.value[i] = i == CFI_RSP ? cfa :
				  restored(picture, frame, &rule.place[i], cfa, i);
	caller.pc = caller.value[CFI_RIP] - (rule.signal ? 0 : 1);
	*frame = caller;
	return caller.value[CFI_RIP] != 0;
}

size_t thread_frames(const struct picture *picture, const struct modules *modules,
		     struct cfi_rules *rules, const struct picture_thread *thread, uint64_t *pc,
		     size_t room)
{
	struct frame_at frame;
	size_t count = 0;

	first_frame(&thread->registers, &frame);
	do
		pc[count++] = frame.pc;
	while (count < room && leave(picture, modules, rules, &frame));
	return count;
}
