/* SPDX-License-Identifier: MIT */
/*
 * assigned_return.c - see assigned_return.h.
 *
 * node_new() allocates, fills in and returns: the return may be hundreds of instructions
 * later, behind branches and loops. Both ways of every branch are gone, each place once,
 * with nothing but where the pointer is: that makes it cheap. A way on which the pointer is lost
 * from all registers and words ends there.
 */
#include "src/leak/variable/assigned_return.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "src/leak/variable/assigned_value.h"

#define MAX_STEPS	3000u	/* instructions in all */
#define MAX_BRANCHES	64u	/* ways that wait */
#define MAX_VISITED	1024u	/* places where a way began */
#define MAX_BYTES	15u

#define REG_RAX		0u
#define CLOBBERED	0x0f37u	/* rax rdx rcx rsi rdi r8-r11 */

struct search {
	const struct module *module;
	uint64_t low, high;
	ZydisDecoder decoder;
	struct return_state branch[MAX_BRANCHES];
	unsigned int branch_count;
	uint64_t visited[MAX_VISITED];
	unsigned int visited_count;
	unsigned int steps;
	ZydisDecodedInstruction info;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(struct search *search, uint64_t address)
{
	for (size_t bytes = MAX_BYTES; bytes > 0; bytes--) {
		const uint8_t *code = module_bytes(search->module, address, bytes, NULL);

		if (code)
			return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&search->decoder, code, bytes,
								   &search->info, search->operand));
	}
	return false;
}

/* ---- where the pointer is ---- */

static struct return_slot *find_slot(struct return_state *state, const ZydisDecodedOperand *operand)
{
	int reg = value_register(operand->mem.base);
	int64_t offset = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;

	for (unsigned int i = 0; i < state->slot_count; i++) {
		if (state->slot[i].reg == reg && state->slot[i].offset == offset &&
		    operand->mem.index == ZYDIS_REGISTER_NONE)
			return &state->slot[i];
	}
	return NULL;
}

static bool is_frame(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operand->mem.index == ZYDIS_REGISTER_NONE &&
	       (operand->mem.base == ZYDIS_REGISTER_RSP || operand->mem.base == ZYDIS_REGISTER_RBP);
}

static bool holds(struct return_state *state, const ZydisDecodedOperand *operand)
{
	int reg;

	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		reg = value_register(operand->reg.value);
		return reg >= 0 && (state->registers >> reg & 1);
	}
	return is_frame(operand) && find_slot(state, operand);
}

static void set_slot(struct return_state *state, const ZydisDecodedOperand *operand, bool value)
{
	struct return_slot *slot = find_slot(state, operand);

	if (slot && !value)
		*slot = state->slot[--state->slot_count];
	else if (!slot && value && state->slot_count < RETURN_SLOTS)
		state->slot[state->slot_count++] = (struct return_slot){
			.reg = (uint8_t)value_register(operand->mem.base),
			.offset = operand->mem.disp.has_displacement
				  ? (int32_t)operand->mem.disp.value : 0,
		};
}

static void set(struct return_state *state, const ZydisDecodedOperand *operand, bool value)
{
	int reg;

	if (is_frame(operand)) {
		set_slot(state, operand, value);
		return;
	}
	reg = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? value_register(operand->reg.value) :
							     -1;
	if (reg < 0)
		return;
	state->registers = (uint16_t)(state->registers & ~(1u << reg));
	if (value)
		state->registers = (uint16_t)(state->registers | 1u << reg);
}

/* ---- ways ---- */

static bool visit(struct search *search, uint64_t address)
{
	for (unsigned int i = 0; i < search->visited_count; i++) {
		if (search->visited[i] == address)
			return false;
	}
	if (search->visited_count == MAX_VISITED)
		return false;
	search->visited[search->visited_count++] = address;
	return true;
}

static void add_branch(struct search *search, const struct return_state *state, uint64_t address)
{
	if (address < search->low || address >= search->high ||
	    search->branch_count == MAX_BRANCHES || !visit(search, address))
		return;
	search->branch[search->branch_count] = *state;
	search->branch[search->branch_count++].address = address;
}

/* Everything but jumps and returns. */
static void execute(struct search *search, struct return_state *state)
{
	bool value;

	if (search->info.meta.category == ZYDIS_CATEGORY_CALL) {
		state->registers = (uint16_t)(state->registers & ~CLOBBERED);
		return;
	}
	value = (search->info.mnemonic == ZYDIS_MNEMONIC_MOV ||
		 search->info.meta.category == ZYDIS_CATEGORY_CMOV) &&
		holds(state, &search->operand[1]);
	for (unsigned int i = 0; i < search->info.operand_count; i++) {
		if (search->operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			set(state, &search->operand[i], value && i == 0);
	}
}

enum way { WAY_ON, WAY_END, WAY_RETURNS };

/* One instruction. */
static enum way step(struct search *search, struct return_state *state)
{
	uint64_t next, target;

	if (!decode(search, state->address))
		return WAY_END;
	next = state->address + search->info.length;
	target = next + search->info.raw.imm[0].value.u;
	switch (search->info.meta.category) {
	case ZYDIS_CATEGORY_RET:
		return state->registers >> REG_RAX & 1 ? WAY_RETURNS : WAY_END;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (search->info.raw.imm[0].is_relative)
			add_branch(search, state, target);
		return WAY_END;
	case ZYDIS_CATEGORY_COND_BR:
		add_branch(search, state, target);
		break;
	default:
		execute(search, state);
	}
	state->address = next;
	return (state->registers || state->slot_count) && next < search->high ? WAY_ON : WAY_END;
}

static bool run(struct search *search)
{
	while (search->branch_count > 0) {
		struct return_state state = search->branch[--search->branch_count];
		enum way way = WAY_ON;

		while (way == WAY_ON && search->steps++ < MAX_STEPS)
			way = step(search, &state);
		if (way == WAY_RETURNS)
			return true;
	}
	return false;
}

bool assigned_returns(const struct module *module, uint64_t low, uint64_t high,
		      const struct return_state *state)
{
	_cleanup_free_ struct search *search = calloc(1, sizeof(*search));

	if (!search || ZYAN_FAILED(ZydisDecoderInit(&search->decoder, ZYDIS_MACHINE_MODE_LONG_64,
						    ZYDIS_STACK_WIDTH_64)))
		return false;
	search->module = module;
	search->low = low;
	search->high = high;
	search->branch[search->branch_count++] = *state;
	return run(search);
}
