/* SPDX-License-Identifier: MIT */
/*
 * cfi_rows.c - an FDE's instructions, run through: which rule holds from where to where.
 *
 * The rule is kept in the shape of cfi_rule.h, which has room for what compilers
 * write about the registers that matter. A place of another shape costs the rows
 * that have it; an instruction or expression of another shape costs the whole FDE,
 * because cfi_check() or libunwind might refuse it, and because those are so rare
 * (PLTs, trampolines of signals) that telling them apart would be worth nothing.
 */
#include "src/unwind/cfi_rows.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/*
 * More than the largest FDEs of compilers have. The walker bounds libunwind's reads of a step to
 * a multiple of this: more could be cut there.
 */
#define MAX_PROGRAM	32768u

static const struct cfi_place elsewhere = { CFI_AT_REGISTER, CFI_REGISTERS, 0 };

enum cfa { CFA_NONE = 0, CFA_REGISTER, CFA_EXPRESSION };

struct state {
	struct cfi_rule rule;
	enum cfa cfa;
};

struct run {
	const struct cfi_cie *cie;
	const struct cfi_rule *initial;		/* NULL: in the CIE's own instructions */
	struct cfi_bytes bytes;
	struct state now;
	uint64_t at;				/* where the row that is being made starts */
	uint64_t end;				/* of the code that the FDE covers */
	int (*each)(void *context, const struct cfi_row *row);
	void *context;
	int result;				/* of each */
	uint32_t depth;
	struct state saved[CFI_ROWS_MAX_STATES];
};

/* From DWARF's number of a register. */
static const uint8_t which[CFI_RETURN_COLUMN + 1] = {
	CFI_REGISTERS, CFI_REGISTERS, CFI_REGISTERS, CFI_RBX,
	CFI_REGISTERS, CFI_REGISTERS, CFI_RBP, CFI_RSP,
	CFI_REGISTERS, CFI_REGISTERS, CFI_REGISTERS, CFI_REGISTERS,
	CFI_R12, CFI_R13, CFI_R14, CFI_R15,
	CFI_RIP,
};

/* One of ours; CFI_REGISTERS: another one. */
static enum cfi_register read_register(struct cfi_bytes *bytes)
{
	uint64_t number = cfi_bytes_uleb(bytes);

	if (number > CFI_RETURN_COLUMN) {
		bytes->bad = true;
		return CFI_REGISTERS;
	}
	return (enum cfi_register)which[number];
}

static void set_place(struct run *run, enum cfi_register r, struct cfi_place place)
{
	if (r < CFI_REGISTERS)
		run->now.rule.place[r] = place;
}

static int64_t factored(const struct run *run, uint64_t value)
{
	return (int64_t)(value * (uint64_t)run->cie->data_align);
}

static void set_at_cfa(struct run *run, enum cfi_register r, uint64_t value)
{
	set_place(run, r, (struct cfi_place){
		.where = CFI_AT_CFA, .offset = factored(run, value),
	});
}

/* ---- expressions ---- */

/* What an expression may be: register + offset, perhaps the word there, perhaps plus add. */
struct expression {
	enum cfi_register base;
	uint64_t offset, add;
	bool deref;
};

static uint64_t read_constant(struct cfi_bytes *bytes)
{
	if (bytes->at == bytes->end || *bytes->at != DW_OP_plus_uconst)
		return 0;
	cfi_bytes_one(bytes);
	return cfi_bytes_uleb(bytes);
}

static struct expression read_expression(struct cfi_bytes *bytes)
{
	uint64_t size = cfi_bytes_uleb(bytes);
	struct cfi_bytes inner = cfi_bytes_take(bytes, size);
	struct expression expression = { .base = CFI_REGISTERS };
	uint8_t operation = cfi_bytes_one(&inner);

	if (operation < DW_OP_breg0 || operation > DW_OP_breg0 + CFI_RETURN_COLUMN) {
		bytes->bad = true;
		return expression;
	}
	expression.base = (enum cfi_register)which[operation - DW_OP_breg0];
	expression.offset = (uint64_t)cfi_bytes_sleb(&inner);
	expression.offset += read_constant(&inner);
	if (inner.at != inner.end && *inner.at == DW_OP_deref) {
		cfi_bytes_one(&inner);
		expression.deref = true;
		expression.add = read_constant(&inner);
	}
	if (inner.bad || inner.at != inner.end)
		bytes->bad = true;
	return expression;
}

static void set_cfa_expression(struct run *run)
{
	struct expression expression = read_expression(&run->bytes);
	struct cfi_rule *rule = &run->now.rule;

	rule->cfa_base = expression.base;
	rule->cfa_offset = (int64_t)expression.offset;
	rule->cfa_deref = expression.deref;
	rule->cfa_add = (int64_t)expression.add;
	run->now.cfa = CFA_EXPRESSION;
}

static void set_expression(struct run *run)
{
	enum cfi_register r = read_register(&run->bytes);
	struct expression expression = read_expression(&run->bytes);
	struct cfi_place place = elsewhere;

	/* Of a register that is not followed there is nowhere to say that it is odd. */
	if (expression.deref || expression.base == CFI_REGISTERS)
		run->bytes.bad |= r == CFI_REGISTERS;
	else
		place = (struct cfi_place){
			CFI_AT_REGISTER, expression.base, (int64_t)expression.offset,
		};
	set_place(run, r, place);
}

/* ---- instructions ---- */

static void set_cfa(struct run *run, enum cfi_register base, int64_t offset)
{
	struct cfi_rule *rule = &run->now.rule;

	rule->cfa_base = base;
	rule->cfa_offset = offset;
	rule->cfa_deref = false;
	rule->cfa_add = 0;
	run->now.cfa = CFA_REGISTER;
}

/* Half a rule makes no sense after none or an expression. */
static void change_cfa(struct run *run, enum cfi_register base, int64_t offset)
{
	run->bytes.bad |= run->now.cfa != CFA_REGISTER;
	set_cfa(run, base, offset);
}

/* Instructions about the CFA. False: it is none of them. */
static bool run_cfa(struct run *run, uint8_t instruction)
{
	struct cfi_bytes *bytes = &run->bytes;
	const struct cfi_rule *rule = &run->now.rule;
	enum cfi_register base;

	switch (instruction) {
	case DW_CFA_def_cfa:
		base = read_register(bytes);
		set_cfa(run, base, (int64_t)cfi_bytes_uleb(bytes));
		return true;
	case DW_CFA_def_cfa_sf:
		base = read_register(bytes);
		set_cfa(run, base, factored(run, (uint64_t)cfi_bytes_sleb(bytes)));
		return true;
	case DW_CFA_def_cfa_register:
		change_cfa(run, read_register(bytes), rule->cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		change_cfa(run, rule->cfa_base, (int64_t)cfi_bytes_uleb(bytes));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		change_cfa(run, rule->cfa_base, factored(run, (uint64_t)cfi_bytes_sleb(bytes)));
		return true;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(run);
		return true;
	}
	return false;
}

/* A CIE has nothing to go back to. */
static void restore_place(struct run *run, enum cfi_register r)
{
	if (!run->initial)
		run->bytes.bad = true;
	else if (r < CFI_REGISTERS)
		set_place(run, r, run->initial->place[r]);
}

/* Instructions about one register. False: it is none of them. */
static bool run_place(struct run *run, uint8_t instruction)
{
	struct cfi_bytes *bytes = &run->bytes;
	enum cfi_register r;

	switch (instruction) {
	case DW_CFA_offset_extended:
		r = read_register(bytes);
		set_at_cfa(run, r, cfi_bytes_uleb(bytes));
		return true;
	case DW_CFA_offset_extended_sf:
		r = read_register(bytes);
		set_at_cfa(run, r, (uint64_t)cfi_bytes_sleb(bytes));
		return true;
	case DW_CFA_restore_extended:
		restore_place(run, read_register(bytes));
		return true;
	case DW_CFA_undefined:
		set_place(run, read_register(bytes), (struct cfi_place){ CFI_UNDEFINED, 0, 0 });
		return true;
	case DW_CFA_same_value:
		set_place(run, read_register(bytes), (struct cfi_place){ CFI_SAME, 0, 0 });
		return true;
	case DW_CFA_register:
		r = read_register(bytes);
		read_register(bytes);
		set_place(run, r, elsewhere);
		return true;
	case DW_CFA_expression:
		set_expression(run);
		return true;
	}
	return false;
}

static void give_row(struct run *run, uint64_t end)
{
	struct cfi_row row = { .start = run->at, .end = end, .rule = &run->now.rule };

	if (run->now.cfa == CFA_NONE)
		run->bytes.bad = true;
	if (end > run->end)
		row.end = run->end;
	if (row.start < row.end && !run->bytes.bad)
		run->result = run->each(run->context, &row);
}

/* A row is complete: the instructions that follow are about later code. */
static void advance(struct run *run, uint64_t delta)
{
	uint64_t next;

	if (!run->initial || __builtin_mul_overflow(delta, run->cie->code_align, &next) ||
	    __builtin_add_overflow(next, run->at, &next)) {
		run->bytes.bad = true;
		return;
	}
	give_row(run, next);
	run->at = next;
}

static void remember(struct run *run)
{
	if (run->depth == CFI_ROWS_MAX_STATES)
		run->bytes.bad = true;
	else
		run->saved[run->depth++] = run->now;
}

static void go_back(struct run *run)
{
	if (run->depth == 0)
		run->bytes.bad = true;
	else
		run->now = run->saved[--run->depth];
}

static void run_extended(struct run *run, uint8_t instruction)
{
	struct cfi_bytes *bytes = &run->bytes;

	if (run_cfa(run, instruction) || run_place(run, instruction))
		return;
	switch (instruction) {
	case DW_CFA_nop:
		return;
	case DW_CFA_advance_loc1:
		advance(run, cfi_bytes_one(bytes));
		return;
	case DW_CFA_advance_loc2:
		advance(run, cfi_bytes_fixed(bytes, 2));
		return;
	case DW_CFA_advance_loc4:
		advance(run, cfi_bytes_fixed(bytes, 4));
		return;
	case DW_CFA_remember_state:
		remember(run);
		return;
	case DW_CFA_restore_state:
		go_back(run);
		return;
	case DW_CFA_GNU_args_size:
		cfi_bytes_uleb(bytes);
		return;
	}
	bytes->bad = true;
}

static void run_instruction(struct run *run)
{
	uint8_t byte = cfi_bytes_one(&run->bytes);
	uint8_t low = byte & 0x3f;

	switch (byte & 0xc0) {
	case DW_CFA_advance_loc:
		advance(run, low);
		return;
	case DW_CFA_offset:
	case DW_CFA_restore:
		if (low > CFI_RETURN_COLUMN)
			run->bytes.bad = true;
		else if ((byte & 0xc0) == DW_CFA_restore)
			restore_place(run, (enum cfi_register)which[low]);
		else
			set_at_cfa(run, (enum cfi_register)which[low],
				   cfi_bytes_uleb(&run->bytes));
		return;
	}
	run_extended(run, byte);
}

static int run_all(struct run *run)
{
	if ((size_t)(run->bytes.end - run->bytes.at) > MAX_PROGRAM)
		return -EOPNOTSUPP;
	while (run->bytes.at < run->bytes.end && !run->bytes.bad && run->result == 0)
		run_instruction(run);
	return run->bytes.bad ? -EOPNOTSUPP : run->result;
}

int cfi_rows_initial(const struct cfi_cie *cie, struct cfi_rule *ret)
{
	struct run run;
	int r;

	/* All but the saved states, of which there are none yet. */
	memset(&run, 0, offsetof(struct run, saved));
	run.cie = cie;
	run.bytes = cie->program;
	r = run_all(&run);
	if (r < 0)
		return r;
	if (run.now.cfa != CFA_REGISTER)
		return -EOPNOTSUPP;
	run.now.rule.signal = cie->signal;
	*ret = run.now.rule;
	return 0;
}

int cfi_rows_each(const struct cfi_fde_program *program,
		  int (*each)(void *context, const struct cfi_row *row), void *context)
{
	struct run run;
	int r;

	memset(&run, 0, offsetof(struct run, saved));
	run.cie = program->cie;
	run.initial = program->initial;
	run.bytes = program->bytes;
	run.now = (struct state){ *program->initial, CFA_REGISTER };
	run.at = program->start;
	run.end = program->end;
	run.each = each;
	run.context = context;
	r = run_all(&run);
	if (r == 0) {
		give_row(&run, run.end);
		r = run.result;
	}
	return r;
}
