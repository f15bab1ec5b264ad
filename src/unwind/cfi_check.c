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
#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_REGISTER	16u		/* DWARF number of rip; libunwind knows no higher one */
#define MAX_STATES	64u		/* nested DW_CFA_remember_state */
#define MAX_EXPRESSION	64u		/* operations; libunwind's stack holds 64 values */
#define MAX_PROGRAM	(1u << 20)	/* bytes of one FDE or CIE */
#define AUGMENTATION	5u		/* "zPLR"; libunwind keeps no more */

/* A bounded run of bytes. Once bad, it reads zeros and stays bad. */
struct reader {
	const uint8_t *at, *end;
	uint64_t address;		/* virtual address of at */
	bool bad;
};

struct cie {
	uint64_t low, high;
	struct reader program;
	uint8_t fde_encoding;
	bool signal;
	bool sized;			/* 'z' */
};

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

static uint64_t read_fixed(struct reader *reader, size_t bytes)
{
	uint64_t value = 0;

	if (reader->bad || (size_t)(reader->end - reader->at) < bytes) {
		reader->bad = true;
		return 0;
	}
	memcpy(&value, reader->at, bytes);
	reader->at += bytes;
	reader->address += bytes;
	return value;
}

/* Signed and unsigned are the same length; more than 10 bytes are no number. */
static uint64_t read_leb(struct reader *reader)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_fixed(reader, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (shift > 70)
			reader->bad = true;
	} while ((byte & 0x80) && !reader->bad);
	return value;
}

static void skip(struct reader *reader, uint64_t bytes)
{
	if (reader->bad || bytes > (uint64_t)(reader->end - reader->at)) {
		reader->bad = true;
		return;
	}
	reader->at += bytes;
	reader->address += bytes;
}

static uint64_t read_register(struct reader *reader)
{
	uint64_t number = read_leb(reader);

	if (number > MAX_REGISTER)
		reader->bad = true;
	return number;
}

/* The value as it is stored, without what it is relative to; the bytes of a pointer format. */
static uint64_t read_format(struct reader *reader, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return read_fixed(reader, 8);
	case DW_EH_PE_udata4:
		return read_fixed(reader, 4);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)read_fixed(reader, 4);
	case DW_EH_PE_udata2:
		return read_fixed(reader, 2);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)read_fixed(reader, 2);
	}
	reader->bad = true;
	return 0;
}

/* Absolute and pc-relative pointers; x86-64 compilers write no others. */
static uint64_t read_pointer(struct reader *reader, uint8_t encoding)
{
	uint64_t base = reader->address;
	uint64_t value = read_format(reader, encoding);
	uint8_t application = encoding & 0x70;

	if (application != DW_EH_PE_absptr && application != DW_EH_PE_pcrel)
		reader->bad = true;
	return application == DW_EH_PE_pcrel ? value + base : value;
}

/* One operation of an expression; false when libunwind must not see it. */
static bool check_operation(struct reader *reader, uint8_t operation, bool *affine)
{
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg16) {
		read_leb(reader);
		return true;
	}
	switch (operation) {
	case DW_OP_plus_uconst:
		read_leb(reader);
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
		skip(reader, 1);
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
static void check_expression(struct reader *reader, struct program *program)
{
	uint64_t bytes = read_leb(reader);
	struct reader inner = *reader;
	unsigned int operations = 0;

	skip(reader, bytes);
	if (reader->bad)
		return;
	inner.end = reader->at;
	while (inner.at < inner.end && !inner.bad) {
		uint8_t operation = (uint8_t)read_fixed(&inner, 1);

		if (++operations > MAX_EXPRESSION ||
		    !check_operation(&inner, operation, &program->affine))
			inner.bad = true;
		if (operations > 1 && operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
			program->affine = false;
	}
	if (inner.bad)
		reader->bad = true;
}

static void remember(struct reader *reader, struct program *program)
{
	if (program->depth == MAX_STATES)
		reader->bad = true;
	else
		program->state[program->depth++] = program->now;
}

static void restore(struct reader *reader, struct program *program)
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
static bool check_cfa(struct reader *reader, struct program *program, uint8_t instruction)
{
	switch (instruction) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		read_register(reader);
		read_leb(reader);
		program->now.cfa = CFA_REGISTER;
		return true;
	case DW_CFA_def_cfa_register:
		read_register(reader);
		program->now.cfa = CFA_REGISTER;
		return true;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		read_leb(reader);
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
static bool check_rule(struct reader *reader, struct program *program, uint8_t instruction)
{
	uint64_t number;

	switch (instruction) {
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
		program->now.return_saved |= read_register(reader) == MAX_REGISTER;
		read_leb(reader);
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
static void check_advance(struct reader *reader, struct program *program, size_t bytes)
{
	skip(reader, bytes);
	if (program->now.cfa == CFA_NONE)
		reader->bad = true;
	program->affine &= program->now.return_saved;
}

static void check_extended(struct reader *reader, struct program *program, uint8_t instruction)
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
		read_leb(reader);
		return;
	}
	reader->bad = true;
}

/* Runs all instructions. False when there is one that libunwind must not see. */
static bool check_program(struct reader reader, struct program *program)
{
	while (reader.at < reader.end && !reader.bad) {
		uint8_t byte = (uint8_t)read_fixed(&reader, 1);

		switch (byte & 0xc0) {
		case DW_CFA_advance_loc:
			check_advance(&reader, program, 0);
			break;
		case DW_CFA_offset:
			read_leb(&reader);
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

/*
 * Opens the entry (CIE or FDE) at address: its bytes after the length. Only
 * 32-bit lengths, only read-only segments: what libunwind reads must be the file's.
 */
static int open_entry(const struct module *module, uint64_t address, struct reader *ret)
{
	const uint8_t *head, *body;
	uint32_t length, flags;

	head = module_bytes(module, address, sizeof(length), &flags);
	if (!head || (flags & PF_W))
		return -EBADMSG;
	memcpy(&length, head, sizeof(length));
	if (length == 0xffffffff)
		return -EOPNOTSUPP;
	if (length < 8 || length > MAX_PROGRAM)
		return -EBADMSG;
	body = module_bytes(module, address, sizeof(length) + length, NULL);
	if (!body)
		return -EBADMSG;
	*ret = (struct reader){
		.at = body + sizeof(length), .end = body + sizeof(length) + length,
		.address = address + sizeof(length),
	};
	return 0;
}

/* The augmentation string: 'z' first, then any of R, P, L, S once. */
static void read_augmentation(struct reader *reader, char *ret)
{
	size_t length = 0;
	char c;

	while ((c = (char)read_fixed(reader, 1)) != '\0') {
		if (length == AUGMENTATION - 1) {
			reader->bad = true;
			break;
		}
		ret[length++] = c;
	}
	ret[length] = '\0';
}

static void read_augmentation_data(struct reader *reader, const char *letter, struct cie *cie)
{
	for (; *letter && !reader->bad; letter++) {
		switch (*letter) {
		case 'R':
			cie->fde_encoding = (uint8_t)read_fixed(reader, 1);
			reader->bad |= (cie->fde_encoding & DW_EH_PE_indirect) != 0;
			break;
		case 'L':
			read_fixed(reader, 1);
			break;
		case 'P':
			/* libunwind may follow it: it is served files only then. */
			read_pointer(reader, (uint8_t)read_fixed(reader, 1));
			break;
		case 'S':
			cie->signal = true;
			break;
		default:
			reader->bad = true;
		}
	}
}

static int check_cie(const struct module *module, uint64_t address, struct cie *cie)
{
	char augmentation[AUGMENTATION] = "";
	struct reader reader;
	int r = open_entry(module, address, &reader);
	uint64_t version;

	if (r < 0)
		return r;
	*cie = (struct cie){ .low = address, .fde_encoding = DW_EH_PE_absptr };
	cie->high = reader.address + (uint64_t)(reader.end - reader.at);
	if (read_fixed(&reader, 4) != 0)
		return -EBADMSG;
	version = read_fixed(&reader, 1);
	if (version != 1 && version != 3)
		return -EOPNOTSUPP;
	read_augmentation(&reader, augmentation);
	read_leb(&reader);	/* code alignment */
	read_leb(&reader);	/* data alignment */
	if ((version == 1 ? read_fixed(&reader, 1) : read_leb(&reader)) != MAX_REGISTER)
		return -EOPNOTSUPP;
	if (augmentation[0] == 'z') {
		struct reader data = reader;
		uint64_t bytes = read_leb(&data);

		cie->sized = true;
		reader = data;
		skip(&reader, bytes);
		read_augmentation_data(&data, augmentation + 1, cie);
		reader.bad |= data.bad || data.at > reader.at;
	} else if (augmentation[0] != '\0') {
		return -EOPNOTSUPP;
	}
	cie->program = reader;
	return reader.bad ? -EBADMSG : 0;
}

/* The program of the CIE, then that of the FDE on top of it. */
static int check_programs(const struct cie *cie, struct reader fde, struct cfi_fde *ret)
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
	struct cfi_fde fde = { .low = address };
	struct reader reader;
	struct cie cie;
	uint64_t offset;
	int r = open_entry(module, address, &reader);

	if (r < 0)
		return r;
	fde.high = reader.address + (uint64_t)(reader.end - reader.at);
	offset = read_fixed(&reader, 4);
	if (offset == 0)
		return -EBADMSG;	/* a CIE itself */
	r = check_cie(module, address + 4 - offset, &cie);
	if (r < 0)
		return r;
	fde.cie_low = cie.low;
	fde.cie_high = cie.high;
	fde.signal = cie.signal;
	fde.start = read_pointer(&reader, cie.fde_encoding);
	fde.end = fde.start + read_format(&reader, cie.fde_encoding);
	if (cie.sized)
		skip(&reader, read_leb(&reader));
	if (reader.bad || fde.end <= fde.start)
		return -EBADMSG;
	r = check_programs(&cie, reader, &fde);
	if (r == 0)
		*ret = fde;
	return r;
}
