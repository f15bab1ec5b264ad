/* SPDX-License-Identifier: MIT */
/*
 * entry_decode.c - decoding and relocating x86-64 instructions at entry points.
 *
 * Refused, because a thread may be in the middle of the instruction or come back
 * to it: rep strings (an interrupt leaves rip on them), and system calls, first or
 * not: a thread that blocks in one is restarted at the instruction itself, rip - 2,
 * where the patch would then be. A call may only be the last: moved, it pushes the
 * address behind the original call, which lies behind the patch, and jumps; so who
 * looks at the stack sees what there always was. Refused, because they have no far form: loop,
 * jrcxz, xbegin. Short branches grow to their near form. What is not understood is refused.
 *
 * A decoder of our own for "the usual prologues" was rejected: entries of four
 * allocators already start with 14 different instructions, some rip-relative.
 */
#include "src/plan/entry_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#define FORWARD_MAX_INSTRUCTIONS 12u
#define CONSTANT_MAX_INSTRUCTIONS 16u
#define DEAD_END_ALIGN 8u

struct instruction {
	uint64_t address;
	const uint8_t *bytes;
	ZydisDecodedInstruction info;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

static void decoder_init(ZydisDecoder *decoder)
{
	/* Fails for modes that do not exist only. */
	(void)ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static bool decode(const ZydisDecoder *decoder, const struct entry_code *code, uint64_t address,
		   struct instruction *ret)
{
	if (address < code->low || address >= code->high)
		return false;
	ret->address = address;
	ret->bytes = code->bytes + (address - code->low);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, ret->bytes, code->high - address,
						   &ret->info, ret->operand));
}

static uint64_t instruction_end(const struct instruction *in)
{
	return in->address + in->info.length;
}

static bool is_relative_branch(const struct instruction *in)
{
	return in->info.raw.imm[0].is_relative;
}

static uint64_t branch_target(const struct instruction *in)
{
	return instruction_end(in) + in->info.raw.imm[0].value.u;
}

static bool is_call(const struct instruction *in)
{
	return in->info.meta.category == ZYDIS_CATEGORY_CALL;
}

static bool is_jump(const struct instruction *in)
{
	return in->info.meta.category == ZYDIS_CATEGORY_COND_BR ||
	       in->info.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

/* jmp, not jcc or loop. */
static bool is_unconditional(const struct instruction *in)
{
	return in->info.mnemonic == ZYDIS_MNEMONIC_JMP;
}

/* Memory operand relative to rip, or NULL. */
static const ZydisDecodedOperand *rip_operand(const struct instruction *in)
{
	for (unsigned int i = 0; i < in->info.operand_count; i++) {
		const ZydisDecodedOperand *o = &in->operand[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP))
			return o;
	}
	return NULL;
}

static bool is_filler(const struct instruction *in)
{
	return in->info.mnemonic == ZYDIS_MNEMONIC_NOP || in->info.mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* Why an instruction can't be moved or replaced, whatever its operands; NULL: it may. */
static const char *refusal_by_kind(const struct instruction *in)
{
	switch (in->info.meta.category) {
	case ZYDIS_CATEGORY_RET:
		return "returns at once";
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		return "a system call at the entry";
	case ZYDIS_CATEGORY_INTERRUPT:
		return "a breakpoint at the entry";
	case ZYDIS_CATEGORY_SYSTEM:
		return "a system instruction";
	default:
		break;
	}
	if (in->info.mnemonic == ZYDIS_MNEMONIC_UD0 || in->info.mnemonic == ZYDIS_MNEMONIC_UD1 ||
	    in->info.mnemonic == ZYDIS_MNEMONIC_UD2)
		return "no code at the entry";
	if (in->info.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return "a rep instruction";
	return NULL;
}

static bool is_plain_jcc(const struct instruction *in)
{
	if (in->info.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return (in->info.opcode & 0xf0) == 0x70;
	return in->info.opcode_map == ZYDIS_OPCODE_MAP_0F && (in->info.opcode & 0xf0) == 0x80;
}

static const char *refusal_by_branch(const struct instruction *in)
{
	if (!is_jump(in))
		return NULL;
	if (in->info.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return "a far jump";
	if (in->info.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)
		return "a 16-bit jump";
	if (is_unconditional(in))
		return is_relative_branch(in) || rip_operand(in) ? NULL : "an indirect jump";
	return is_plain_jcc(in) ? NULL : "a loop or transaction";
}

/* Direct, or through a slot of the module: what compilers make of calls of functions by name. */
static const char *refusal_by_call(const struct instruction *in)
{
	if (!is_call(in))
		return NULL;
	if (in->info.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
	    (in->info.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) ||
	    !(is_relative_branch(in) || (rip_operand(in) && in->info.raw.disp.size == 32)))
		return "a call at the entry through a register or a table";
	return NULL;
}

/* False when the moved code would grow too long. */
static bool emit(struct entry_relocation *out, const uint8_t *bytes, size_t count)
{
	if (count > sizeof(out->relocated) - out->relocated_bytes)
		return false;
	memcpy(out->relocated + out->relocated_bytes, bytes, count);
	out->relocated_bytes = (uint8_t)(out->relocated_bytes + count);
	return true;
}

/* at: offset of the displacement in the instruction that was emitted last, of length bytes. */
static bool add_fixup(struct entry_relocation *out, size_t length, size_t at, uint64_t target)
{
	size_t start = out->relocated_bytes - length;

	if (out->fixup_count >= HOOK_MAX_FIXUPS)
		return false;
	out->fixup[out->fixup_count++] = (struct hook_fixup){
		.at = (uint8_t)(start + at), .end = out->relocated_bytes, .target = target,
	};
	return true;
}

static bool emit_branch(struct entry_relocation *out, const struct instruction *in)
{
	uint8_t jump[6] = { 0xe9 };
	size_t length = 5;

	if (!is_unconditional(in)) {
		jump[0] = 0x0f;
		jump[1] = (uint8_t)(0x80 | (in->info.opcode & 0x0f));
		length = 6;
	}
	return emit(out, jump, length) && add_fixup(out, length, length - 4, branch_target(in));
}

/*
 * push of the return address, in two halves, without a register or the flags; then a jump to what
 * is called, or through the slot that the call goes through.
 */
static bool emit_call(struct entry_relocation *out, const struct instruction *in)
{
	uint8_t push[] = { 0x48, 0x8d, 0x64, 0x24, 0xf8,            /* lea -8(%rsp),%rsp */
			   0xc7, 0x04, 0x24, 0,    0,    0, 0,      /* movl $low,(%rsp) */
			   0xc7, 0x44, 0x24, 0x04, 0,    0, 0, 0 }; /* movl $high,4(%rsp) */
	static const uint8_t jump[] = { 0xe9, 0, 0, 0, 0 }, by_slot[] = { 0xff, 0x25, 0, 0, 0, 0 };
	uint64_t back = instruction_end(in);
	bool direct = is_relative_branch(in);
	size_t length = direct ? sizeof(jump) : sizeof(by_slot);

	memcpy(push + 8, &back, 4);
	memcpy(push + 16, (const uint8_t *)&back + 4, 4);
	return emit(out, push, sizeof(push)) && emit(out, direct ? jump : by_slot, length) &&
	       add_fixup(out, length, length - 4,
			 direct ? branch_target(in) : back + (uint64_t)in->info.raw.disp.value);
}

static bool emit_plain(struct entry_relocation *out, const struct instruction *in)
{
	uint64_t target = instruction_end(in) + (uint64_t)in->info.raw.disp.value;

	if (!emit(out, in->bytes, in->info.length))
		return false;
	if (!rip_operand(in))
		return true;
	return add_fixup(out, in->info.length, in->info.raw.disp.offset, target);
}

/* Adds one instruction to out, or says why not. */
static const char *relocate_one(struct entry_relocation *out, const struct instruction *in)
{
	const ZydisDecodedOperand *rip = rip_operand(in);
	const char *reason = refusal_by_kind(in);
	bool done;

	if (!reason)
		reason = refusal_by_branch(in);
	if (!reason)
		reason = refusal_by_call(in);
	if (reason)
		return reason;
	if (rip && (rip->mem.base != ZYDIS_REGISTER_RIP || in->info.raw.disp.size != 32))
		return "an address of 32 bits";
	if (is_call(in))
		done = emit_call(out, in);
	else
		done = is_relative_branch(in) ? emit_branch(out, in) : emit_plain(out, in);
	if (!done)
		return "too many instructions to move";
	out->covered_bytes = (uint8_t)(out->covered_bytes + in->info.length);
	out->instructions++;
	return NULL;
}

int entry_relocate(const struct entry_code *code, uint64_t entry, unsigned int at_least,
		   struct entry_relocation *ret, const char **ret_reason)
{
	struct entry_relocation out = { 0 };
	struct instruction in;
	ZydisDecoder decoder;

	*ret_reason = NULL;
	decoder_init(&decoder);
	while (!*ret_reason && out.covered_bytes < at_least) {
		if (out.instructions > 0 && (is_jump(&in) || is_call(&in)))
			*ret_reason = "a branch at the entry";
		else if (!decode(&decoder, code, entry + out.covered_bytes, &in))
			*ret_reason = "too short or no code";
		else
			*ret_reason = relocate_one(&out, &in);
		if (out.instructions == 1)
			out.first_bytes = out.covered_bytes;
	}
	if (!*ret_reason && is_relative_branch(&in) && branch_target(&in) >= entry &&
	    branch_target(&in) < entry + out.covered_bytes)
		*ret_reason = "branches into its own entry";
	if (*ret_reason)
		return -ENOTSUP;
	*ret = out;
	return 0;
}

bool entry_is_lone_ret(const struct entry_code *code, uint64_t entry, uint8_t *ret_bytes)
{
	struct instruction in;
	ZydisDecoder decoder;

	decoder_init(&decoder);
	if (!decode(&decoder, code, entry, &in) || in.info.mnemonic != ZYDIS_MNEMONIC_RET ||
	    in.info.length >= ENTRY_JUMP_BYTES || code->high - entry < ENTRY_JUMP_BYTES)
		return false;
	*ret_bytes = in.info.length;
	return entry_filler_bytes(in.bytes + in.info.length,
				  code->high - instruction_end(&in)) >=
	       (size_t)ENTRY_JUMP_BYTES - in.info.length;
}

size_t entry_filler_bytes(const uint8_t *bytes, size_t count)
{
	struct entry_code code = { .low = 0, .high = count, .bytes = bytes };
	struct instruction in;
	ZydisDecoder decoder;
	size_t at = 0;

	decoder_init(&decoder);
	while (decode(&decoder, &code, at, &in) && is_filler(&in))
		at += in.info.length;
	return at;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* After this instruction nothing runs on into the next one. */
static bool ends_flow(const struct instruction *in)
{
	return is_unconditional(in) || in->info.meta.category == ZYDIS_CATEGORY_RET ||
	       in->info.mnemonic == ZYDIS_MNEMONIC_UD2;
}

/* A tail call by `jmp *slot(%rip)` has one target; everything else may be a table. */
static bool is_indirect_jump(const struct instruction *in)
{
	return is_jump(in) && !is_relative_branch(in) && !rip_operand(in);
}

/* Candidates first; whether a jump leads there is known at the end. */
static void note_filler(struct entry_scan *scan, const struct instruction *in, bool dead)
{
	struct entry_span *last = scan->filler_count ? &scan->filler[scan->filler_count - 1] : NULL;

	if (!is_filler(in))
		return;
	if (last && last->high == in->address)
		last->high = instruction_end(in);
	else if (dead && scan->filler_count < ENTRY_MAX_FILLERS)
		scan->filler[scan->filler_count++] =
			(struct entry_span){ in->address, instruction_end(in) };
}

static void drop_live_fillers(struct entry_scan *scan, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < scan->filler_count; i++) {
		const struct entry_span *f = &scan->filler[i];

		if (!scan->complete || scan->indirect ||
		    (f->high % DEAD_END_ALIGN != 0 && f->high != end) ||
		    entry_scan_jumps_into(scan, f->low, f->high))
			continue;
		scan->filler[kept++] = *f;
	}
	scan->filler_count = kept;
}

int entry_scan_code(const struct entry_code *code, struct entry_scan *ret)
{
	/* The shortest direct jump has 2 bytes. */
	struct entry_scan scan = { .jump = calloc((code->high - code->low) / 2 + 1,
						  sizeof(*scan.jump)) };
	uint64_t at = code->low;
	struct instruction in;
	ZydisDecoder decoder;
	bool dead = false;

	if (!scan.jump)
		return -ENOMEM;
	decoder_init(&decoder);
	while (decode(&decoder, code, at, &in)) {
		if (is_jump(&in) && is_relative_branch(&in) && branch_target(&in) >= code->low &&
		    branch_target(&in) < code->high)
			scan.jump[scan.jump_count++] = branch_target(&in);
		scan.indirect |= is_indirect_jump(&in);
		note_filler(&scan, &in, dead);
		dead = ends_flow(&in);
		at = instruction_end(&in);
	}
	scan.complete = at == code->high;
	qsort(scan.jump, scan.jump_count, sizeof(*scan.jump), compare_addresses);
	drop_live_fillers(&scan, code->high);
	*ret = scan;
	return 0;
}

void entry_scan_done(struct entry_scan *scan)
{
	free(scan->jump);
	*scan = (struct entry_scan){ 0 };
}

bool entry_scan_jumps_into(const struct entry_scan *scan, uint64_t low, uint64_t high)
{
	size_t first = 0, end = scan->jump_count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (scan->jump[middle] < low)
			first = middle + 1;
		else
			end = middle;
	}
	return first < scan->jump_count && scan->jump[first] < high;
}

/* Changes nothing but flags and registers other than rdi. */
static bool leaves_argument(const struct instruction *in)
{
	const ZydisDecodedOperand *o = &in->operand[0];

	switch (in->info.mnemonic) {
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_CMP:
		return true;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_XOR:
		return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
							o->reg.value) != ZYDIS_REGISTER_RDI;
	default:
		return in->info.meta.category == ZYDIS_CATEGORY_COND_BR && is_plain_jcc(in);
	}
}

bool entry_forwards(const struct entry_code *code, uint64_t entry, bool keeps_first_argument,
		    uint64_t *ret_target)
{
	struct instruction in;
	ZydisDecoder decoder;

	decoder_init(&decoder);
	for (unsigned int i = 0; i < FORWARD_MAX_INSTRUCTIONS; i++) {
		if (!decode(&decoder, code, entry, &in))
			return false;
		if (is_unconditional(&in)) {
			*ret_target = is_relative_branch(&in) ? branch_target(&in) : 0;
			return is_relative_branch(&in) &&
			       (*ret_target < code->low || *ret_target >= code->high);
		}
		if (in.info.mnemonic != ZYDIS_MNEMONIC_ENDBR64 &&
		    !(keeps_first_argument && leaves_argument(&in)))
			return false;
		entry = instruction_end(&in);
	}
	return false;
}

bool entry_starts_with_jump(const struct entry_code *code, uint64_t *ret_target)
{
	struct instruction in;
	ZydisDecoder decoder;

	decoder_init(&decoder);
	if (!decode(&decoder, code, code->low, &in) || !is_unconditional(&in) ||
	    !is_relative_branch(&in))
		return false;
	*ret_target = branch_target(&in);
	return true;
}

bool entry_plt_slot(const struct entry_code *code, uint64_t *ret_slot)
{
	struct instruction in;
	ZydisDecoder decoder;
	uint64_t at = code->low;

	decoder_init(&decoder);
	if (decode(&decoder, code, at, &in) && in.info.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		at = instruction_end(&in);
	if (!decode(&decoder, code, at, &in) || !is_unconditional(&in) || is_relative_branch(&in) ||
	    !rip_operand(&in))
		return false;
	*ret_slot = instruction_end(&in) + (uint64_t)in.info.raw.disp.value;
	return true;
}

/* `lea x(%rip),%rax` or `mov $x,%eax` */
static bool sets_rax(const struct instruction *in, bool *ret_is_address, uint64_t *ret_value)
{
	const ZydisDecodedOperand *o = &in->operand[0];

	if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    (o->reg.value != ZYDIS_REGISTER_RAX && o->reg.value != ZYDIS_REGISTER_EAX))
		return false;
	if (in->info.mnemonic == ZYDIS_MNEMONIC_LEA && rip_operand(in)) {
		*ret_is_address = true;
		*ret_value = instruction_end(in) + (uint64_t)in->info.raw.disp.value;
		return true;
	}
	*ret_is_address = false;
	*ret_value = in->info.raw.imm[0].value.u;
	return in->info.mnemonic == ZYDIS_MNEMONIC_MOV && in->info.raw.imm[0].size != 0;
}

bool entry_constant(const struct entry_code *code, uint64_t entry, bool *ret_is_address,
		    uint64_t *ret_value)
{
	struct instruction in;
	ZydisDecoder decoder;
	bool found = false;

	decoder_init(&decoder);
	for (unsigned int i = 0; i < CONSTANT_MAX_INSTRUCTIONS; i++) {
		uint64_t value;
		bool is_address;

		if (!decode(&decoder, code, entry, &in) || ends_flow(&in))
			break;
		if (sets_rax(&in, &is_address, &value)) {
			found = true;
			*ret_is_address = is_address;
			*ret_value = value;
		}
		entry = instruction_end(&in);
	}
	return found;
}
