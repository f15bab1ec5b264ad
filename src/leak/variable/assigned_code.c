/* SPDX-License-Identifier: MIT */
/*
 * assigned_code.c - see assigned_code.h.
 *
 * The straight code before the call says what the registers that survive the call hold
 * ("&s->names[i]"); then the result in rax is followed from move to move, along the way that
 * is taken when it is not NULL, until it is in a variable's place. That a wrapper
 * returns it is found by going on for as long again.
 * It does not follow loops, and not both ways of a branch: what comes later than
 * 25 instructions is most often another use of the variable, not its assignment.
 */
#include "src/leak/variable/assigned_code.h"

#include <errno.h>
#include <string.h>

#include "src/debuginfo/type_shape.h"
#include "src/leak/variable/assigned_return.h"
#include "src/leak/variable/assigned_value.h"

#define MAX_AFTER	25u	/* instructions from the call to a name */
#define MAX_BEFORE	300u	/* of the straight code before the call */
#define MAX_ENTRY	40u
#define MAX_FUNCTION	(128u << 10)	/* bytes that are searched for jumps */
#define MAX_BYTES	15u	/* of an instruction */
#define FAR_JUMP	4096	/* without debug information: leaves the function */

#define REG_RAX	0u
#define REG_RDI	5u

struct follow {
	const struct code_place *place;
	ZydisDecoder decoder;
	struct value_state *state;
	uint64_t at;		/* the instruction */
	uint64_t next;
	ZydisDecodedInstruction info;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	bool zero_tested;	/* the flags say whether the result is NULL */
	bool after;		/* the call was passed */
	bool end;
	struct code_answer answer;
	struct code_answer spare;	/* less good: a variable of another inlined call */
};

/* ---- decoding ---- */

static const uint8_t *code_at(const struct module *module, uint64_t address, size_t *bytes)
{
	for (*bytes = MAX_BYTES; *bytes > 0; (*bytes)--) {
		const uint8_t *code = module_bytes(module, address, *bytes, NULL);

		if (code)
			return code;
	}
	return NULL;
}

static bool decode(struct follow *follow)
{
	size_t bytes;
	const uint8_t *code = code_at(follow->place->module, follow->at, &bytes);

	if (!code || ZYAN_FAILED(ZydisDecoderDecodeFull(&follow->decoder, code, bytes,
							&follow->info, follow->operand)))
		return false;
	follow->next = follow->at + follow->info.length;
	return true;
}

static bool is_jump(const ZydisDecodedInstruction *info)
{
	return info->meta.category == ZYDIS_CATEGORY_COND_BR ||
	       info->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static bool is_direct(const ZydisDecodedInstruction *info)
{
	return info->raw.imm[0].is_relative;
}

static uint64_t target(const struct follow *follow)
{
	return follow->next + follow->info.raw.imm[0].value.u;
}

/*
 * Where the straight code begins that ends with the call: after the last jump that leads
 * into the way there, or after the last end of another way.
 */
static uint64_t block_start(struct follow *follow, uint64_t call_end)
{
	const struct debug_scopes *scopes = follow->place->scopes;
	uint64_t start = scopes->low;

	if (scopes->high - scopes->low > MAX_FUNCTION)
		return call_end;
	for (follow->at = scopes->low; follow->at < scopes->high && decode(follow);
	     follow->at = follow->next) {
		bool jump = is_jump(&follow->info) && is_direct(&follow->info);
		bool ends = follow->info.mnemonic == ZYDIS_MNEMONIC_JMP ||
			    follow->info.meta.category == ZYDIS_CATEGORY_RET ||
			    follow->info.mnemonic == ZYDIS_MNEMONIC_UD2;

		if (jump && target(follow) == follow->next)
			continue;	/* what is left of a call that may throw */

		if (ends && follow->next < call_end && follow->next > start)
			start = follow->next;
		if (jump && target(follow) < call_end && target(follow) > start)
			start = target(follow);
	}
	return start;
}

/* ---- values ---- */

static struct value_operand operand_of(const struct follow *follow, unsigned int i)
{
	return (struct value_operand){ &follow->operand[i], follow->at, follow->next };
}

static bool is_memory(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static void read_operand(struct follow *follow, unsigned int i, struct value *ret)
{
	const ZydisDecodedOperand *operand = &follow->operand[i];
	struct value_operand at = operand_of(follow, i);
	const struct value_slot *slot;
	int reg;

	*ret = (struct value){ .kind = VALUE_UNKNOWN };
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		reg = value_register(operand->reg.value);
		if (reg >= 0)
			value_of_register(follow->state, (unsigned int)reg, follow->at, ret);
	} else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		*ret = (struct value){ .kind = VALUE_NUMBER, .number = operand->imm.value.s };
	} else if (is_memory(operand)) {
		slot = value_find_slot(follow->state, operand);
		if (slot && slot->value.kind == VALUE_RESULT) {
			*ret = slot->value;
			return;
		}
		value_of_memory(follow->state, &at, ret);
		if (ret->kind == VALUE_STATIC)	/* its contents, which nobody knows */
			ret->kind = VALUE_UNKNOWN;
		if (ret->kind == VALUE_UNKNOWN && slot)
			*ret = slot->value;
	}
}

static void set_register(struct follow *follow, const ZydisDecodedOperand *operand,
			 const struct value *value)
{
	int reg = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? value_register(operand->reg.value)
							       : -1;

	if (reg >= 0)
		follow->state->reg[reg] = *value;
}

/* ---- what was found ---- */

/* The innermost function that holds the instruction. */
static unsigned int level_at(const struct follow *follow, uint64_t address)
{
	const struct debug_scopes *scopes = follow->place->scopes;

	for (unsigned int i = 0; scopes && i + 1 < scopes->level_count; i++) {
		Dwarf_Die die = scopes->level[i].die;

		if (dwarf_haspc(&die, address) == 1)
			return i;
	}
	return scopes && scopes->level_count ? scopes->level_count - 1 : 0;
}

/*
 * A variable of an inlined function that returns a pointer may be what it returns; then the
 * function around it has a better name.
 */
static bool is_final(const struct follow *follow)
{
	const struct debug_scopes *scopes = follow->place->scopes;
	const struct code_answer *answer = &follow->answer;

	if (answer->kind != CODE_VARIABLE && answer->kind != CODE_SYMBOL)
		return false;
	return !scopes || answer->level + 1 >= scopes->level_count ||
	       !scopes->level[answer->level].returns_pointer;
}

/* A name of a library's own: __p, *__args. Nobody looks for it. */
static bool is_reserved(const char *text)
{
	return strncmp(text + strspn(text, "*(&"), "__", 2) == 0;
}

static void found(struct follow *follow, const struct value *object, unsigned int level)
{
	struct code_answer *answer = &follow->answer;

	if (is_reserved(object->text) ||
	    (answer->kind == CODE_VARIABLE && (is_final(follow) || level <= answer->level)))
		return;
	answer->kind = CODE_VARIABLE;
	answer->level = level;
	answer->local = object->local;
	answer->has_type = true;
	answer->type = object->type;
	memcpy(answer->text, object->text, sizeof(object->text));
}

/* The result went to a variable whose place is that register from here on. */
static void look_in_registers(struct follow *follow, uint64_t address)
{
	const struct code_place *place = follow->place;
	struct value_state *state = follow->state;

	for (unsigned int i = 0; place->scopes && i < place->scopes->variable_count; i++) {
		const struct scope_variable *variable = &place->scopes->variable[i];
		struct value object = { .kind = VALUE_CONTENTS, .local = true };
		Dwarf_Die die = variable->die;
		struct debug_place where;
		const char *name;

		if (follow->answer.kind == CODE_VARIABLE && variable->level <= follow->answer.level)
			continue;
		debug_scopes_place(place->scopes, variable, address, &where);
		if (where.where != DEBUG_REGISTER || where.reg >= 16 ||
		    state->reg[where.reg].kind != VALUE_RESULT)
			continue;
		name = dwarf_diename(&die);
		if (!name || strcmp(name, "this") == 0 || strlen(name) >= sizeof(object.text) ||
		    !type_of_entry(&die, &object.type) ||
		    !type_is_pointer(&object.type))
			continue;
		strcpy(object.text, name);
		if (variable->rank != SCOPE_OTHER_CALL) {
			found(follow, &object, variable->level);
		} else if (follow->spare.kind != CODE_VARIABLE && !is_reserved(name)) {
			follow->spare = (struct code_answer){
				.kind = CODE_VARIABLE, .local = true, .level = variable->level,
				.has_type = true, .type = object.type,
			};
			strcpy(follow->spare.text, name);
		}
	}
}

static void found_symbol(struct follow *follow, uint64_t address)
{
	struct code_answer *answer = &follow->answer;
	uint64_t offset;
	int bytes;
	const char *name = debug_index_symbol(follow->place->index, address, &offset);

	if (!name || answer->kind != CODE_NOTHING)
		return;
	/* name.1 is the compiler's way to tell static variables of functions apart. */
	bytes = (int)strcspn(name, ".");
	answer->kind = CODE_SYMBOL;
	snprintf(answer->text, sizeof(answer->text), offset ? "%.*s+%llu" : "%.*s",
		 bytes < 100 ? bytes : 100, name, (unsigned long long)offset);
}

/* The result is stored in memory. */
static void store(struct follow *follow, unsigned int operand)
{
	struct value_operand at = operand_of(follow, operand);
	struct value object;

	value_of_memory(follow->state, &at, &object);
	/* A number's place may be used for something else while the number is not needed. */
	if (object.kind == VALUE_CONTENTS && type_is_pointer(&object.type))
		found(follow, &object, level_at(follow, follow->at));
	else if (object.kind == VALUE_STATIC)
		found_symbol(follow, (uint64_t)object.number);
}

/* ---- instructions ---- */

static void do_move(struct follow *follow)
{
	const ZydisDecodedOperand *to = &follow->operand[0];
	struct value value;

	read_operand(follow, 1, &value);
	if (is_memory(to)) {
		if (value.kind == VALUE_RESULT && follow->after)
			store(follow, 0);
		value_keep_slot(follow->state, to, &value);
	} else {
		set_register(follow, to, &value);
	}
}

static void do_lea(struct follow *follow)
{
	struct value_operand at = operand_of(follow, 1);
	struct value value;

	value_of_address(follow->state, &at, &value);
	set_register(follow, &follow->operand[0], &value);
}

static void do_add(struct follow *follow, bool negative)
{
	struct value a, b, sum = { .kind = VALUE_UNKNOWN };

	if (is_memory(&follow->operand[0]))
		return;
	read_operand(follow, 0, &a);
	read_operand(follow, 1, &b);
	if (negative && b.kind == VALUE_NUMBER)
		b.number = (int64_t)(0 - (uint64_t)b.number);
	if (!negative || b.kind == VALUE_NUMBER)
		value_add(&a, &b, &sum);
	set_register(follow, &follow->operand[0], &sum);
}

/* An index becomes a distance. */
static void do_shift(struct follow *follow)
{
	struct value a, b, product = { .kind = VALUE_UNKNOWN };

	read_operand(follow, 0, &a);
	read_operand(follow, 1, &b);
	if (b.kind == VALUE_NUMBER && b.number > 0 && b.number < 16)
		value_multiply(&a, 1ull << b.number, &product);
	set_register(follow, &follow->operand[0], &product);
}

/* Everything that the instruction writes and that was not understood. */
static void forget(struct follow *follow)
{
	const struct value unknown = { .kind = VALUE_UNKNOWN };

	for (unsigned int i = 0; i < follow->info.operand_count; i++) {
		if (!(follow->operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (is_memory(&follow->operand[i]))
			value_keep_slot(follow->state, &follow->operand[i], &unknown);
		else
			set_register(follow, &follow->operand[i], &unknown);
	}
}

/* test %rax,%rax; cmp $0,place */
static void do_test(struct follow *follow)
{
	struct value a, b;

	read_operand(follow, 0, &a);
	read_operand(follow, 1, &b);
	follow->zero_tested = a.kind == VALUE_RESULT &&
			      (b.kind == VALUE_RESULT ||
			       (b.kind == VALUE_NUMBER && b.number == 0));
}

static void found_argument(struct follow *follow, uint64_t callee)
{
	static const unsigned int arguments[] = { 5, 4, 1, 2, 8, 9 };	/* rdi rsi rdx rcx r8 r9 */
	struct code_answer *answer = &follow->answer;
	const struct value *object = &follow->state->reg[REG_RDI];
	struct code_call *call = &answer->call[answer->call_count];
	unsigned int i = 0;

	while (i < ARRAY_SIZE(arguments) &&
	       follow->state->reg[arguments[i]].kind != VALUE_RESULT)
		i++;
	if (i == ARRAY_SIZE(arguments) || answer->call_count == CODE_CALLS)
		return;
	*call = (struct code_call){ .callee = callee, .argument = i };
	answer->call_count++;
	if (i > 0 && !value_of_object(follow->state, object, call->object, sizeof(call->object)))
		call->object[0] = '\0';
}

/* strcpy(malloc(n), s) is what malloc returned. */
static bool returns_first(const struct follow *follow, uint64_t callee)
{
	static const char *const names[] = {
		"strcpy", "strncpy", "strcat", "memcpy", "memmove", "memset", "wcscpy",
		"__memcpy_chk", "__strcpy_chk", "__memset_chk", "__memmove_chk",
	};
	char name[PLT_NAME_BYTES];

	if (!callee || follow->state->reg[REG_RDI].kind != VALUE_RESULT)
		return false;
	debug_index_stub(follow->place->index, callee, name);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static void do_call(struct follow *follow)
{
	static const unsigned int clobbered[] = { 0, 1, 2, 4, 5, 8, 9, 10, 11 };
	uint64_t callee = is_direct(&follow->info) ? target(follow) : 0;
	struct value result = { .kind = VALUE_UNKNOWN };

	if (follow->after && returns_first(follow, callee))
		result.kind = VALUE_RESULT;
	else if (follow->after)
		found_argument(follow, callee);
	for (size_t i = 0; i < ARRAY_SIZE(clobbered); i++)
		follow->state->reg[clobbered[i]].kind = VALUE_UNKNOWN;
	follow->state->reg[REG_RAX] = result;
}

static bool leaves_function(const struct follow *follow, uint64_t to)
{
	const struct debug_scopes *scopes = follow->place->scopes;
	int64_t distance = (int64_t)(to - follow->next);

	if (scopes && to >= scopes->low && to < scopes->high)
		return false;
	/* The cold part of a function lies elsewhere; so does another function. */
	return scopes || distance > FAR_JUMP || distance < -FAR_JUMP;
}

/* A jump to another function: what that returns, this one does. */
static void tail_call(struct follow *follow, uint64_t callee)
{
	if (returns_first(follow, callee))
		follow->answer.returned = true;
	else
		found_argument(follow, callee);
}

/* Along the way that is taken when the result is not NULL. */
static void do_jump(struct follow *follow)
{
	bool always = follow->info.mnemonic == ZYDIS_MNEMONIC_JMP;

	if (!follow->after)
		return;
	if (!always && !(follow->zero_tested && follow->info.mnemonic == ZYDIS_MNEMONIC_JNZ))
		return;
	if (!is_direct(&follow->info) || leaves_function(follow, target(follow))) {
		follow->end = always;
		if (always)
			tail_call(follow, is_direct(&follow->info) ? target(follow) : 0);
		return;
	}
	follow->next = target(follow);
}

static void do_return(struct follow *follow)
{
	follow->answer.returned = follow->state->reg[REG_RAX].kind == VALUE_RESULT;
	follow->end = true;
}

/* cmov: the result if it may be. */
static void do_conditional_move(struct follow *follow)
{
	struct value value;

	read_operand(follow, 1, &value);
	if (value.kind != VALUE_RESULT)
		return;
	set_register(follow, &follow->operand[0], &value);
}

static void do_other(struct follow *follow)
{
	if (follow->info.meta.category == ZYDIS_CATEGORY_CMOV)
		do_conditional_move(follow);
	else if (follow->info.meta.category == ZYDIS_CATEGORY_CALL)
		do_call(follow);
	else if (follow->info.meta.category == ZYDIS_CATEGORY_RET)
		do_return(follow);
	else if (is_jump(&follow->info))
		do_jump(follow);
	else
		forget(follow);
}

static void execute(struct follow *follow)
{
	switch (follow->info.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
		do_move(follow);
		break;
	case ZYDIS_MNEMONIC_LEA:
		do_lea(follow);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		do_add(follow, follow->info.mnemonic == ZYDIS_MNEMONIC_SUB);
		break;
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_CMP:
		do_test(follow);
		break;
	case ZYDIS_MNEMONIC_SHL:
		do_shift(follow);
		break;
	case ZYDIS_MNEMONIC_CDQE:	/* the same thing, wider */
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_PUSH:
		break;
	default:
		do_other(follow);
	}
}

static bool step(struct follow *follow)
{
	if (!decode(follow))
		return false;
	execute(follow);
	follow->at = follow->next;
	return true;
}

/* ---- the two ways ---- */

/*
 * The function's first instructions, for the words of the frame that they fill for good: clang -O0
 * keeps a copy of "this".
 */
static void run_entry(struct follow *follow, uint64_t end)
{
	follow->at = follow->place->scopes->low;
	for (unsigned int i = 0; i < MAX_ENTRY && follow->at < end; i++) {
		if (!decode(follow) || is_jump(&follow->info) ||
		    follow->info.meta.category == ZYDIS_CATEGORY_CALL)
			break;
		execute(follow);
		follow->at = follow->next;
	}
	memset(follow->state->reg, 0, sizeof(follow->state->reg));
}

static void run_before(struct follow *follow, uint64_t return_address)
{
	uint64_t start = block_start(follow, return_address);

	if (start > follow->place->scopes->low)
		run_entry(follow, start);
	follow->at = start;
	for (unsigned int i = 0; i < MAX_BEFORE && follow->at < return_address; i++) {
		if (!step(follow))
			break;
	}
	/* Came out beside the call, or not so far: nothing is known. */
	if (follow->at != return_address)
		memset(follow->state->reg, 0, sizeof(follow->state->reg));
}

/* Whether the local variable that was found is returned in the end. */
static bool is_returned(const struct follow *follow)
{
	const struct debug_scopes *scopes = follow->place->scopes;
	const struct value_state *state = follow->state;
	struct return_state from = { .address = follow->at };

	for (unsigned int i = 0; i < ARRAY_SIZE(state->reg); i++) {
		if (state->reg[i].kind == VALUE_RESULT)
			from.registers = (uint16_t)(from.registers | 1u << i);
	}
	for (unsigned int i = 0; i < state->slot_count && from.slot_count < RETURN_SLOTS; i++) {
		if (state->slot[i].value.kind == VALUE_RESULT)
			from.slot[from.slot_count++] = (struct return_slot){
				(uint8_t)state->slot[i].reg, (int32_t)state->slot[i].offset };
	}
	return assigned_returns(follow->place->module, scopes->low, scopes->high, &from);
}

static void run_after(struct follow *follow, uint64_t return_address)
{
	const struct debug_scopes *scopes = follow->place->scopes;
	struct code_answer *answer = &follow->answer;

	follow->at = return_address;
	follow->after = true;
	follow->state->reg[REG_RAX] = (struct value){ .kind = VALUE_RESULT };
	look_in_registers(follow, return_address);
	for (unsigned int i = 0; i < MAX_AFTER && !follow->end && !is_final(follow); i++) {
		if (!step(follow))
			break;
		if (!follow->end)
			look_in_registers(follow, follow->at);
	}
	if (answer->kind == CODE_VARIABLE && answer->local && !follow->end && scopes &&
	    scopes->level[scopes->level_count - 1].returns_pointer)
		answer->returned = is_returned(follow);
}

static void take_spare(struct follow *follow)
{
	struct code_answer *answer = &follow->answer;

	if (follow->spare.kind == CODE_VARIABLE) {
		answer->kind = CODE_VARIABLE;
		answer->local = true;
		answer->level = follow->spare.level;
		answer->has_type = true;
		answer->type = follow->spare.type;
		memcpy(answer->text, follow->spare.text, sizeof(answer->text));
	} else if (answer->call_count > 0) {
		answer->kind = CODE_ARGUMENT;
	}
}

int assigned_code_read(const struct code_place *place, struct code_answer *ret)
{
	_cleanup_free_ struct value_state *state = calloc(1, sizeof(*state));
	struct follow follow = { .place = place, .state = state };

	if (!state)
		return -ENOMEM;
	state->place = place;
	if (ZYAN_FAILED(ZydisDecoderInit(&follow.decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64)) ||
	    !module_bytes(place->module, place->return_address, 1, NULL))
		return -ENOENT;
	if (place->scopes)
		run_before(&follow, place->return_address);
	run_after(&follow, place->return_address);
	if (follow.answer.kind == CODE_NOTHING)
		take_spare(&follow);
	*ret = follow.answer;
	return 0;
}
