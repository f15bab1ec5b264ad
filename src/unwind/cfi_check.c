/* SPDX-License-Identifier: MIT */
/*
 * cfi_check.c - is this call frame information fit to be given to libunwind?
 *
 * libunwind 1.6 trusts .eh_frame: it adds unchecked lengths to its cursor, runs
 * backward branches of expressions for ever, divides INT64_MIN by -1, and in
 * builds with assertions aborts on a row without a CFA. A target may write its
 * own ELF file, so every byte that libunwind is going to interpret is looked at
 * here first, once per FDE: all lengths within the section, known instructions,
 * registers up to 16, a CFA rule in every row, a bounded state stack,
 * expressions without branches, division or memory sizes. The bytes are a
 * private copy, so what was checked is what is used.
 * Refused things (DW_CFA_set_loc, value rules, vector registers, exotic
 * expressions) are rare in compilers' output; libdw has a try at those frames
 * (cfi_rule.c).
 * Interpreting the rules here as well was rejected: then libunwind would only
 * be a second opinion on its own input.
 */
#include "src/unwind/cfi_check.h"

#include <dwarf.h>
#include <errno.h>

#include "src/unwind/cfi_entry.h"

#define MAX_REGISTER	CFI_RETURN_COLUMN	/* libunwind knows no higher one */
#define MAX_STATES	64u		/* nested DW_CFA_remember_state */
#define MAX_EXPRESSION	64u		/* operations; libunwind's stack holds 64 values */

enum cfa { CFA_NONE = 0, CFA_REGISTER, CFA_EXPRESSION };

/* What a row says, as far as it matters here. */
struct row {
	enum cfa cfa;
	bool return_saved;	/* it is known where in memory the return address is */
};

/* What is followed while the instructions run by. */
struct program {
	struct row now;
	struct row initial;	/* after the CIE: what DW_CFA_restore goes back to */
	struct row state[MAX_STATES];
	unsigned int depth;
	bool affine;
};

static uint64_t read_register(struct cfi_bytes *reader)
{
	uint64_t number = cfi_bytes_uleb(reader);

	if (number > MAX_REGISTER)
		reader->bad = true;
	return number;
}

/* One operation of an expression; false when libunwind must not see it. */
static bool check_operation(struct cfi_bytes *reader, uint8_t operation, bool *affine)
{
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg16) {
		cfi_bytes_uleb(reader);
		return true;
	}
	switch (operation) {
	case DW_OP_plus_uconst:
		cfi_bytes_uleb(reader);
		return true;
	case DW_OP_deref:
		return true;
	}
	*affine = false;
	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
		return true;
	switch (operation) {
	case DW_OP_const1u:
	case DW_OP_const1s:
		cfi_bytes_skip(reader, 1);
		return true;
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_eq:
	case DW_OP_ne:
	case DW_OP_ge:
	case DW_OP_gt:
	case DW_OP_le:
	case DW_OP_lt:
	case DW_OP_dup:
	case DW_OP_swap:
	case DW_OP_drop:
		return true;
	case DW_OP_shl:		/* the count is masked by the processor; seen in every PLT */
		return true;
	}
	return false;
}

/*
 * A whole expression. Affine only as one register with additions and loads after
 * it: a second register or constant would have to be combined with the first.
 */
static void check_expression(struct cfi_bytes *reader, struct program *program)
{
	uint64_t bytes = cfi_bytes_uleb(reader);
	struct cfi_bytes inner = cfi_bytes_take(reader, bytes);
	unsigned int operations = 0;

	while (inner.at < inner.end && !inner.bad) {
		uint8_t operation = cfi_bytes_one(&inner);

		if (++operations > MAX_EXPRESSION ||
		    !check_operation(&inner, operation, &program->affine))
			inner.bad = true;
		if (operations > 1 && operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
			program->affine = false;
	}
	if (inner.bad)
		reader->bad = true;
}

static void remember(struct cfi_bytes *reader, struct program *program)
{
	if (program->depth == MAX_STATES)
		reader->bad = true;
	else
		program->state[program->depth++] = program->now;
}

static void restore(struct cfi_bytes *reader, struct program *program)
{
	if (program->depth == 0)
		reader->bad = true;
	else
		program->now = program->state[--program->depth];
}

static void restore_register(struct program *program, uint64_t number)
{
	if (number == MAX_REGISTER)
		program->now.return_saved = program->initial.return_saved;
}

/* Rules for the CFA. False: instruction is none of them. */
static bool check_cfa(struct cfi_bytes *reader, struct program *program, uint8_t instruction)
{
	switch (instruction) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		read_register(reader);
		cfi_bytes_uleb(reader);
		program->now.cfa = CFA_REGISTER;
		return true;
	case DW_CFA_def_cfa_register:
		read_register(reader);
		program->now.cfa = CFA_REGISTER;
		return true;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		cfi_bytes_uleb(reader);
		/* An offset alone makes no sense after an expression. */
		if (program->now.cfa != CFA_REGISTER)
			reader->bad = true;
		return true;
	case DW_CFA_def_cfa_expression:
		check_expression(reader, program);
		program->now.cfa = CFA_EXPRESSION;
		return true;
	}
	return false;
}

/* Rules for other registers. False: instruction is none of them. */
static bool check_rule(struct cfi_bytes *reader, struct program *program, uint8_t instruction)
{
	uint64_t number;

	switch (instruction) {
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
		program->now.return_saved |= read_register(reader) == MAX_REGISTER;
		cfi_bytes_uleb(reader);
		return true;
	case DW_CFA_restore_extended:
		restore_register(program, read_register(reader));
		return true;
	case DW_CFA_undefined:
		/* Of the return address: the walk ends here, or a later rule follows. */
		program->now.return_saved |= read_register(reader) == MAX_REGISTER;
		return true;
	case DW_CFA_same_value:
		/* A return address that is no word in memory: see cfi_fde.affine. */
		program->affine &= read_register(reader) != MAX_REGISTER;
		return true;
	case DW_CFA_register:
		number = read_register(reader);
		program->affine &= number != MAX_REGISTER;
		read_register(reader);
		return true;
	case DW_CFA_expression:
		program->now.return_saved |= read_register(reader) == MAX_REGISTER;
		check_expression(reader, program);
		return true;
	}
	return false;
}

/* A row is complete: the instructions that follow are about later code. */
static void check_advance(struct cfi_bytes *reader, struct program *program, size_t bytes)
{
	cfi_bytes_skip(reader, bytes);
	if (program->now.cfa == CFA_NONE)
		reader->bad = true;
	program->affine &= program->now.return_saved;
}

static void check_extended(struct cfi_bytes *reader, struct program *program, uint8_t instruction)
{
	if (check_cfa(reader, program, instruction) || check_rule(reader, program, instruction))
		return;
	switch (instruction) {
	case DW_CFA_nop:
		return;
	case DW_CFA_advance_loc1:
		check_advance(reader, program, 1);
		return;
	case DW_CFA_advance_loc2:
		check_advance(reader, program, 2);
		return;
	case DW_CFA_advance_loc4:
		check_advance(reader, program, 4);
		return;
	case DW_CFA_remember_state:
		remember(reader, program);
		return;
	case DW_CFA_restore_state:
		restore(reader, program);
		return;
	case DW_CFA_GNU_args_size:
		cfi_bytes_uleb(reader);
		return;
	}
	reader->bad = true;
}

/* Runs all instructions. False when there is one that libunwind must not see. */
static bool check_program(struct cfi_bytes reader, struct program *program)
{
	while (reader.at < reader.end && !reader.bad) {
		uint8_t byte = cfi_bytes_one(&reader);

		switch (byte & 0xc0) {
		case DW_CFA_advance_loc:
			check_advance(&reader, program, 0);
			break;
		case DW_CFA_offset:
			cfi_bytes_uleb(&reader);
			reader.bad |= (byte & 0x3f) > MAX_REGISTER;
			program->now.return_saved |= (byte & 0x3f) == MAX_REGISTER;
			break;
		case DW_CFA_restore:
			reader.bad |= (byte & 0x3f) > MAX_REGISTER;
			restore_register(program, byte & 0x3f);
			break;
		default:
			check_extended(&reader, program, byte);
		}
	}
	return !reader.bad;
}

/* The program of the CIE, then that of the FDE on top of it. */
static int check_programs(const struct cfi_cie *cie, struct cfi_bytes fde, struct cfi_fde *ret)
{
	struct program program = { .affine = true };

	if (!check_program(cie->program, &program))
		return -EOPNOTSUPP;
	program.depth = 0;
	program.initial = program.now;
	if (!check_program(fde, &program) || program.now.cfa == CFA_NONE)
		return -EOPNOTSUPP;
	ret->affine = program.affine && program.now.return_saved;
	return 0;
}

int cfi_check(const struct module *module, uint64_t address, struct cfi_fde *ret)
{
	const struct cfi_source source = { .module = module };
	struct cfi_head head;
	struct cfi_fde fde;
	struct cfi_cie cie;
	int r = cfi_entry_head(&source, address, &head);

	if (r == 0)
		r = cfi_entry_cie(&source, head.cie, &cie);
	if (r < 0)
		return r;
	fde = (struct cfi_fde){
		.low = head.low, .high = head.high, .cie_low = cie.low, .cie_high = cie.high,
		.signal = cie.signal,
	};
	r = cfi_entry_range(&cie, &head, &fde.start, &fde.end);
	if (r == 0)
		r = check_programs(&cie, head.rest, &fde);
	if (r == 0)
		*ret = fde;
	return r;
}
