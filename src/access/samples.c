/* SPDX-License-Identifier: MIT */
/*
 * samples.c - PERF_RECORD_SAMPLE with IDENTIFIER, REGS_USER and STACK_USER, in that order;
 * PERF_RECORD_LOST; other kinds are stepped over. The kernel is trusted, the contents of
 * registers and stacks are the target's, and every length is held against what is there.
 */
#include "src/access/samples.h"

#include <linux/perf_event.h>
#include <string.h>

#include "inject/arch/x86_64/access_regs.h"

struct cursor {
	const uint8_t *at;
	size_t left;
};

static bool samples_take(struct cursor *c, void *to, size_t bytes)
{
	if (c->left < bytes)
		return false;
	memcpy(to, c->at, bytes);
	c->at += bytes;
	c->left -= bytes;
	return true;
}

static bool take_slot(struct cursor *c, const struct access_thread *thread, uint32_t *ret)
{
	uint64_t id;

	if (!samples_take(c, &id, sizeof(id)) || !id)
		return false;
	for (uint32_t i = 0; i < ACCESS_SLOTS; i++)
		if (thread->id[i] == id) {
			*ret = i;
			return true;
		}
	return false;
}

/* Without registers (abi 0) there is no user mode to speak of. */
static bool take_registers(struct cursor *c, struct unwind_registers *ret)
{
	struct access_regs regs;
	uint64_t abi;

	if (!samples_take(c, &abi, sizeof(abi)) || abi == PERF_SAMPLE_REGS_ABI_NONE ||
	    !samples_take(c, &regs, sizeof(regs)))
		return false;
	*ret = (struct unwind_registers){
		.rip = regs.rip, .rsp = regs.rsp, .rbp = regs.rbp, .rbx = regs.rbx,
		.r12 = regs.r12, .r13 = regs.r13, .r14 = regs.r14, .r15 = regs.r15,
	};
	return true;
}

/* size, that many bytes, and, unless it is 0, how many of them could be read. */
static bool take_stack(struct cursor *c, struct access_sample *ret)
{
	uint64_t size, good = 0;

	if (!samples_take(c, &size, sizeof(size)) || size > c->left)
		return false;
	ret->stack = c->at;
	c->at += size;
	c->left -= size;
	if (size && !samples_take(c, &good, sizeof(good)))
		return false;
	ret->stack_bytes = good < size ? (size_t)good : (size_t)size;
	return true;
}

static bool take_lost(struct cursor *c, uint64_t *lost)
{
	uint64_t id, count;

	if (!samples_take(c, &id, sizeof(id)) || !samples_take(c, &count, sizeof(count)))
		return false;
	*lost += count;
	return true;
}

size_t access_samples_each(const struct access_thread *thread, const uint8_t *records,
			   void (*each)(void *context, const struct access_sample *sample),
			   void *context, uint64_t *ret_lost)
{
	struct cursor all = { records, thread->bytes };
	struct perf_event_header header;
	uint64_t lost = 0;
	size_t count = 0;

	while (samples_take(&all, &header, sizeof(header)) && header.size >= sizeof(header) &&
	       header.size - sizeof(header) <= all.left) {
		struct cursor body = { all.at, header.size - sizeof(header) };
		struct access_sample sample;

		all.at += body.left;
		all.left -= body.left;
		if (header.type == PERF_RECORD_LOST)
			(void)take_lost(&body, &lost);
		if (header.type != PERF_RECORD_SAMPLE || !take_slot(&body, thread, &sample.slot) ||
		    !take_registers(&body, &sample.registers) || !take_stack(&body, &sample))
			continue;
		each(context, &sample);
		count++;
	}
	*ret_lost = lost;
	return count;
}
