/* SPDX-License-Identifier: MIT */
/*
 * allocator_reach.c - what the entries of an allocator reach in its module.
 *
 * An allocator's helpers (hook_plan.helper) are among what its entries reach by
 * direct branches, jumps through slots, and addresses that they take.
 * Taking all of its library instead was rejected: there are libraries with an
 * allocator inside, and allocators with functions that allocate for the program.
 */
#include "src/plan/allocators.h"

#include <errno.h>
#include <stdlib.h>

#include <Zydis/Zydis.h>

#include "src/plan/code_ranges.h"
#include "src/plan/entry_decode.h"

/* Of one module: several times what the largest allocator needs. */
#define WALK_MAX_FUNCTIONS	2048u
#define WALK_MAX_BRANCHES	16384u
#define WALK_MAX_TARGETS	4096u
#define WALK_MAX_BYTES	(4u << 20)

/* A function that hooked entries reach. */
struct function {
	struct entry_span span;
	bool calls;	/* a hooked entry: the return address lies in here */
	bool jumps;	/* to a hooked entry: the return address lies in its caller */
};

struct branch {
	uint16_t from, to;	/* indexes of functions */
	bool is_jump;
};

/* Where a branch leads, remembered: the index of a function, or one of these. */
enum { LEADS_NOWHERE = -1, LEADS_TO_ENTRY = -2 };
struct target {
	uint64_t address;
	int leads_to;
};

struct walk {
	struct allocator_reach *reach;
	size_t count, branch_count, target_count, bytes;
	struct function function[WALK_MAX_FUNCTIONS];
	struct branch branch[WALK_MAX_BRANCHES];
	struct target target[WALK_MAX_TARGETS];
	uint8_t code[ENTRY_MAX_CODE_BYTES];	/* of the function being decoded */
};

static bool is_code(const struct elf_image *image, uint64_t address)
{
	for (unsigned int i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *segment = &image->phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
		    address - (segment->p_vaddr + image->bias) < segment->p_memsz)
			return true;
	}
	return false;
}

/*
 * Index of the function that holds address, -1: none. Only a function that starts
 * there is new; what jumps into the middle of one came from there, by a cold part.
 */
static int function_at(struct walk *walk, uint64_t address)
{
	const struct elf_image *image = walk->reach->image;
	const struct entry_span *span;
	struct code_ranges ranges;

	for (size_t i = 0; i < walk->count; i++) {
		if (address >= walk->function[i].span.low && address < walk->function[i].span.high)
			return (int)i;
	}
	if (!is_code(image, address) ||
	    code_ranges_near(image, NULL, address, address, &ranges) < 0)
		return -1;
	span = code_ranges_find(&ranges, address);
	if (!span || span->low != address)
		return -1;
	if (walk->count >= WALK_MAX_FUNCTIONS) {
		walk->reach->cut = true;
		return -1;
	}
	walk->function[walk->count].span = *span;
	return (int)walk->count++;
}

static int find_target(struct walk *walk, uint64_t address)
{
	switch (walk->reach->target(walk->reach->context, address, &address)) {
	case ALLOCATOR_HOOKED:
		return LEADS_TO_ENTRY;
	case ALLOCATOR_CODE:
		return function_at(walk, address);
	default:
		return LEADS_NOWHERE;
	}
}

static int leads_to(struct walk *walk, uint64_t address)
{
	int to;

	for (size_t i = 0; i < walk->target_count; i++) {
		if (walk->target[i].address == address)
			return walk->target[i].leads_to;
	}
	to = find_target(walk, address);
	if (walk->target_count < WALK_MAX_TARGETS)
		walk->target[walk->target_count++] = (struct target){ address, to };
	return to;
}

static void follow(struct walk *walk, size_t from, uint64_t target, bool is_jump)
{
	int to = leads_to(walk, target);

	if (to == LEADS_TO_ENTRY && is_jump)
		walk->function[from].jumps = true;
	else if (to == LEADS_TO_ENTRY)
		walk->function[from].calls = true;
	if (to < 0 || (size_t)to == from)
		return;
	if (walk->branch_count >= WALK_MAX_BRANCHES) {
		walk->reach->cut = true;
		return;
	}
	walk->branch[walk->branch_count++] =
		(struct branch){ (uint16_t)from, (uint16_t)to, is_jump };
}

/* call and jmp through a slot of the module, as -fno-plt has it. */
static void follow_slot(struct walk *walk, size_t from, uint64_t slot, bool is_jump)
{
	const struct elf_image *image = walk->reach->image;
	uint64_t target;

	if (slot >= image->low && slot < image->high && image->high - slot >= sizeof(target) &&
	    image->reader.read(image->reader.context, slot, &target, sizeof(target)) == 0)
		follow(walk, from, target, is_jump);
}

/* By branches, and by `lea`: a function whose address is taken may be called by whom gets it. */
static void follow_instruction(struct walk *walk, size_t from, uint64_t end,
			       const ZydisDecodedInstruction *in)
{
	const struct entry_span *span = &walk->function[from].span;
	bool by_rip = (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) && in->raw.modrm.mod == 0 &&
		      in->raw.modrm.rm == 5;
	uint64_t there = end + (by_rip ? (uint64_t)in->raw.disp.value : in->raw.imm[0].value.u);
	bool is_jump = in->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		       in->meta.category == ZYDIS_CATEGORY_COND_BR;
	bool is_branch = is_jump || in->meta.category == ZYDIS_CATEGORY_CALL;

	if (!is_jump && !walk->reach->find_helpers)
		return;
	if (is_branch && by_rip)
		follow_slot(walk, from, there, is_jump);
	else if ((is_branch && in->raw.imm[0].is_relative &&
		  (there < span->low || there >= span->high)) ||
		 (in->mnemonic == ZYDIS_MNEMONIC_LEA && by_rip &&
		  is_code(walk->reach->image, there)))
		follow(walk, from, there, is_jump);
}

static void decode_function(struct walk *walk, size_t index)
{
	const struct elf_reader *reader = &walk->reach->image->reader;
	struct entry_span span = walk->function[index].span;
	uint64_t bytes = span.high - span.low;
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;

	if (bytes > sizeof(walk->code) || bytes > WALK_MAX_BYTES - walk->bytes) {
		walk->reach->cut = true;
		return;
	}
	walk->bytes += bytes;
	if (reader->read(reader->context, span.low, walk->code, bytes) < 0)
		return;
	(void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint64_t at = 0; at < bytes; at += in.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, walk->code + at,
							      bytes - at, &in)))
			in.length = 1;
		else
			follow_instruction(walk, index, span.low + at + in.length, &in);
	}
}

/* Who jumps to what jumps to an entry does so too; who calls it, as good as calls the entry. */
static void spread_jumps(struct walk *walk)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < walk->branch_count; i++) {
			const struct branch *b = &walk->branch[i];
			struct function *from = &walk->function[b->from];

			if (!walk->function[b->to].jumps ||
			    (b->is_jump ? from->jumps : from->calls))
				continue;
			*(b->is_jump ? &from->jumps : &from->calls) = true;
			changed = true;
		}
	}
}

static void walk_functions(struct walk *walk)
{
	struct allocator_reach *reach = walk->reach;

	for (size_t i = 0; i < reach->entry_count; i++)
		(void)function_at(walk, reach->entry[i]);
	for (size_t i = 0; i < walk->count; i++)
		decode_function(walk, i);
	spread_jumps(walk);
	for (size_t i = 0; i < reach->entry_count; i++) {
		int at = function_at(walk, reach->entry[i]);

		reach->jumps_on[i] = at >= 0 && walk->function[at].jumps;
	}
}

int allocators_reach(struct allocator_reach *reach)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	walk->reach = reach;
	walk_functions(walk);
	for (size_t i = 0; i < walk->count && reach->find_helpers; i++) {
		const struct function *function = &walk->function[i];

		if (!function->calls)
			continue;
		if (reach->helper_count < 2 * RING_MAX_ENTRIES)
			reach->helper[reach->helper_count++] =
				(struct ring_range){ function->span.low, function->span.high };
		else
			reach->cut = true;
	}
	free(walk);
	return 0;
}
