/* SPDX-License-Identifier: MIT */
/*
 * unwind_walk.c - one walk over one stack copy.
 *
 * Each frame is left in the first way that applies:
 *	1. libunwind, when the module's .eh_frame_hdr leads to an FDE that passed
 *	   cfi_check(); by a row that it has read before where there is one;
 *	2. libdw's rule (cfi_rule.c): no search table, or .debug_frame only;
 *	3. the kernel's signal frame, for a trampoline without any of these (musl);
 *	4. the frame pointer, for JIT code only, and only to a place that can be a
 *	   return address; the frame so found is marked as guessed.
 * Anything else ends the walk, as truncated. libunwind's own guesses (it follows
 * rbp through code without tables) are kept from running: they skip frames.
 * Reads of libunwind are of two kinds that must not be mixed. What it reads of
 * tables comes from the module's checked copy and nowhere else; what it reads as
 * data comes from the stack copy and nowhere else. Never from the target.
 * Steps 2 to 4 leave registers where they are and only note the place, so that a
 * walk reads what it needs and the memo learns no more than that.
 */
#include "src/unwind/unwind_walk.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "src/symbolize/call_site.h"
#include "src/unwind/signal_return.h"
#include "src/unwind/unwind_accessors.h"
#include "src/unwind/unwind_find.h"
#include "src/unwind/unwind_states.h"
#include "src/unwind/unwind_trace.h"

/* A row's instructions are read byte by byte: what the largest FDEs need, no more. */
#define STEP_READS	UNWIND_STATE_READS
#define WALK_READS	(4u << 20)
#define FRAME_POINTER_REACH	65536u

enum place_kind { PLACE_UNKNOWN = 0, PLACE_INPUT, PLACE_MEMORY, PLACE_VALUE };
struct place {
	enum place_kind kind;
	uint64_t value;		/* address, value, or enum cfi_register of the input */
};

enum step {
	STEP_FAILED = -1,	/* truncated here */
	STEP_END = 0,		/* this was the outermost frame */
	STEP_ON = 1,
};

/* Which way leads out of the current frame. */
enum way { WAY_NONE = 0, WAY_LIBUNWIND, WAY_RULE, WAY_TRAMPOLINE, WAY_FRAME_POINTER };

struct unwind_walker {
	const struct modules *modules;
	struct unwind_find *find;
	struct unwind_states *states;
	struct cfi_rules *rules;
	unw_addr_space_t space;

	/* The walk that runs. */
	const struct unwind_input *input;
	struct memo_trace *trace;
	uint32_t budget;		/* table reads left in this walk */
	uint32_t step_budget;

	/* The current frame. */
	uint64_t ip, sp;
	bool is_return, guessed;
	const struct module *module;
	enum way way;
	struct cfi_fde fde;
	struct unwind_state state;	/* with a trace */
	struct cfi_rule rule;
	bool reading_tables;		/* in libunwind's search */

	/* libunwind's cursor, and where the registers of the frame were that it was started at. */
	unw_cursor_t cursor;
	bool cursor_valid;
	uint64_t cursor_ip, cursor_sp;
	struct place place[CFI_REGISTERS];
};

/* ---- reading ---- */

static bool read_data(struct unwind_walker *walker, uint64_t address, uint64_t *ret)
{
	uint64_t where = address - walker->input->registers.rsp;
	struct memo_read read = { .kind = MEMO_STACK, .where = (int64_t)where };
	bool there = unwind_input_word(walker->input, address, ret);

	unwind_trace_before_read(walker->trace, walker->input);
	/* Far from rsp: likely not computed from it at all, and no offset that a node can hold. */
	if (where + MEMO_WINDOW >= 2 * MEMO_WINDOW) {
		unwind_trace_pin(walker->trace, walker->input);
		read.where = (int64_t)(where << 3) >> 3;
		if ((uint64_t)read.where != where && walker->trace)
			walker->trace->unfit = true;
	}
	read.value = there ? *ret : 0;
	read.tag = there ? memo_normalise(walker->input, &read.value) : MEMO_FAILED;
	unwind_trace_add(walker->trace, &read);
	return there;
}

static bool read_place(struct unwind_walker *walker, const struct place *place, uint64_t *ret)
{
	struct memo_read read = { .kind = MEMO_REGISTER, .where = (int64_t)place->value };

	switch (place->kind) {
	case PLACE_UNKNOWN:
		return false;
	case PLACE_VALUE:
		*ret = place->value;
		return true;
	case PLACE_MEMORY:
		return read_data(walker, place->value, ret);
	case PLACE_INPUT:
		break;
	}
	unwind_trace_before_read(walker->trace, walker->input);
	*ret = unwind_input_register(walker->input, (enum cfi_register)place->value);
	read.value = *ret;
	read.tag = memo_normalise(walker->input, &read.value);
	unwind_trace_add(walker->trace, &read);
	return true;
}

/* Whether address is in the FDE or CIE that libunwind is interpreting, give or take a word. */
static bool in_tables(const struct unwind_walker *walker, uint64_t address)
{
	uint64_t at = address - walker->module->bias;

	return (at + 7 >= walker->fde.low && at < walker->fde.high) ||
	       (at + 7 >= walker->fde.cie_low && at < walker->fde.cie_high);
}

static bool spend(struct unwind_walker *walker)
{
	if (walker->budget == 0 || walker->step_budget == 0)
		return false;
	walker->budget--;
	walker->step_budget--;
	return true;
}

/* ---- libunwind's accessors ---- */

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
		      void *argument)
{
	struct unwind_walker *walker = argument;
	uint64_t word = 0;
	bool there;

	(void)space;
	if (write || !spend(walker))
		return -UNW_EINVAL;
	if (walker->reading_tables) {
		/*
		 * The personality routine behind DW.ref lies in a writable segment and may
		 * not be in the file: nobody uses it here, and any answer will do.
		 */
		(void)unwind_find_word(walker->find, walker->module, address, &word);
		there = true;
	} else if (walker->module && in_tables(walker, address)) {
		there = unwind_find_word(walker->find, walker->module, address, &word);
	} else {
		there = read_data(walker, address, &word);
	}
	*value = word;
	return there ? 0 : -UNW_EINVAL;
}

static enum cfi_register from_libunwind(unw_regnum_t number)
{
	switch (number) {
	case UNW_X86_64_RIP:
		return CFI_RIP;
	case UNW_X86_64_RSP:
		return CFI_RSP;
	case UNW_X86_64_RBP:
		return CFI_RBP;
	case UNW_X86_64_RBX:
		return CFI_RBX;
	case UNW_X86_64_R12:
		return CFI_R12;
	case UNW_X86_64_R13:
		return CFI_R13;
	case UNW_X86_64_R14:
		return CFI_R14;
	case UNW_X86_64_R15:
		return CFI_R15;
	}
	return CFI_REGISTERS;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
		      void *argument)
{
	struct unwind_walker *walker = argument;
	enum cfi_register which = from_libunwind(number);
	uint64_t word;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
	if (which == CFI_REGISTERS)
		return -UNW_EBADREG;
	if (which == CFI_RIP)
		word = walker->cursor_ip;
	else if (which == CFI_RSP)
		word = walker->cursor_sp;
	else if (!read_place(walker, &walker->place[which], &word))
		return -UNW_EBADREG;
	*value = word;
	return 0;
}

/* Anything but -UNW_ENOINFO, which would make libunwind guess. */
static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *argument)
{
	struct unwind_walker *walker = argument;
	int r;

	walker->reading_tables = true;
	r = unwind_find_info(walker->find, space, ip, info, need_unwind_info, argument);
	walker->reading_tables = false;
	return r == -UNW_ENOINFO ? -UNW_EINVAL : r;
}

/* ---- the steps ---- */

/*
 * Starts libunwind at the current frame. It takes the ip of a first frame as
 * exact; a return address less one finds the same row as libunwind's own use of it.
 */
static bool cursor_start(struct unwind_walker *walker)
{
	if (walker->cursor_valid)
		return true;
	walker->cursor_ip = walker->ip - (walker->is_return ? 1 : 0);
	walker->cursor_sp = walker->sp;
	walker->cursor_valid = unw_init_remote(&walker->cursor, walker->space, walker) == 0;
	return walker->cursor_valid;
}

static const unw_regnum_t libunwind_number[CFI_REGISTERS] = {
	[CFI_RIP] = UNW_X86_64_RIP, [CFI_RSP] = UNW_X86_64_RSP, [CFI_RBP] = UNW_X86_64_RBP,
	[CFI_RBX] = UNW_X86_64_RBX, [CFI_R12] = UNW_X86_64_R12, [CFI_R13] = UNW_X86_64_R13,
	[CFI_R14] = UNW_X86_64_R14, [CFI_R15] = UNW_X86_64_R15,
};

static struct place cursor_place(struct unwind_walker *walker, enum cfi_register which)
{
	unw_save_loc_t location;
	enum cfi_register other;

	if (unw_get_save_loc(&walker->cursor, libunwind_number[which], &location) < 0)
		return (struct place){ .kind = PLACE_UNKNOWN };
	switch (location.type) {
	case UNW_SLT_MEMORY:
		return (struct place){ .kind = PLACE_MEMORY, .value = location.u.addr };
	case UNW_SLT_REG:
		other = from_libunwind((unw_regnum_t)location.u.regnum);
		if (other != CFI_REGISTERS)
			return walker->place[other];
		break;
	case UNW_SLT_NONE:
		break;
	}
	return (struct place){ .kind = PLACE_UNKNOWN };
}

/* Takes the places of all registers over from the cursor, which ends with it. */
static void cursor_stop(struct unwind_walker *walker)
{
	struct place place[CFI_REGISTERS] = { { 0 } };

	if (!walker->cursor_valid)
		return;
	for (enum cfi_register i = CFI_RBP; i < CFI_REGISTERS; i++)
		place[i] = cursor_place(walker, i);
	memcpy(walker->place, place, sizeof(place));
	walker->cursor_valid = false;
}

/* What unw_step() does once it has read the row; budgets are what they would be after that. */
static int apply_row(struct unwind_walker *walker)
{
	uint32_t reads = walker->state.reads;
	unw_save_loc_t rbp;
	int r;

	if (reads > walker->budget || reads > walker->step_budget)
		return -UNW_EINVAL;
	walker->budget -= reads;
	walker->step_budget -= reads;
	r = unw_apply_reg_state(&walker->cursor, walker->state.row);
	/* The ABI's mark of the deepest frame: an rbp that is nowhere. */
	if (r > 0 && (unw_get_save_loc(&walker->cursor, UNW_X86_64_RBP, &rbp) < 0 ||
		      rbp.type == UNW_SLT_NONE))
		return 0;
	return r;
}

/*
 * unw_step(), by the row that is known. A cursor that has had rows applied does not know whether it
 * is at a return address: where there is no row libunwind starts anew.
 */
static int step_known(struct unwind_walker *walker)
{
	uint64_t lookup = walker->ip - (walker->is_return ? 1 : 0);
	struct cfi_fde fde;

	if (walker->state.row)
		return apply_row(walker);
	cursor_stop(walker);
	if (unwind_find_fde(walker->find, walker->module, lookup - walker->module->bias,
			    &fde) < 0 || !cursor_start(walker))
		return -UNW_EINVAL;
	return unw_step(&walker->cursor);
}

static enum step step_libunwind(struct unwind_walker *walker)
{
	unw_word_t ip, sp;
	int r;

	if (walker->trace && !walker->fde.affine)
		walker->trace->unfit = true;
	if (!cursor_start(walker))
		return STEP_FAILED;
	r = walker->trace ? step_known(walker) : unw_step(&walker->cursor);
	if (r < 0)
		return STEP_FAILED;
	if (r == 0)
		return STEP_END;
	if (unw_get_reg(&walker->cursor, UNW_REG_IP, &ip) < 0 ||
	    unw_get_reg(&walker->cursor, UNW_REG_SP, &sp) < 0)
		return STEP_FAILED;
	walker->ip = ip;
	walker->sp = sp;
	walker->is_return = !walker->fde.signal;
	return STEP_ON;
}

/* This frame's value of a register. */
static bool frame_register(struct unwind_walker *walker, enum cfi_register which, uint64_t *ret)
{
	if (which == CFI_RSP) {
		*ret = walker->sp;
		return true;
	}
	/* An address computed from ip would not move with the stack; nobody writes it. */
	return which != CFI_RIP && read_place(walker, &walker->place[which], ret);
}

static bool rule_cfa(struct unwind_walker *walker, uint64_t *ret)
{
	const struct cfi_rule *rule = &walker->rule;
	uint64_t value;

	if (!frame_register(walker, rule->cfa_base, &value))
		return false;
	value += (uint64_t)rule->cfa_offset;
	if (rule->cfa_deref) {
		if (!read_data(walker, value, &value))
			return false;
		value += (uint64_t)rule->cfa_add;
	}
	*ret = value;
	return true;
}

static struct place rule_place(struct unwind_walker *walker, enum cfi_register which, uint64_t cfa)
{
	const struct cfi_place *from = &walker->rule.place[which];
	uint64_t base;

	switch (from->where) {
	case CFI_SAME:
		return walker->place[which];
	case CFI_AT_CFA:
		return (struct place){ PLACE_MEMORY, cfa + (uint64_t)from->offset };
	case CFI_IS_CFA:
		return (struct place){ PLACE_VALUE, cfa + (uint64_t)from->offset };
	case CFI_AT_REGISTER:
		if (frame_register(walker, from->base, &base))
			return (struct place){ PLACE_MEMORY, base + (uint64_t)from->offset };
		break;
	case CFI_UNDEFINED:
		break;
	}
	return (struct place){ .kind = PLACE_UNKNOWN };
}

static bool is_in_memory(const struct cfi_place *place)
{
	return place->where == CFI_AT_CFA || place->where == CFI_AT_REGISTER;
}

static enum step step_rule(struct unwind_walker *walker)
{
	struct place place[CFI_REGISTERS] = { { 0 } };
	uint64_t cfa, ip;

	cursor_stop(walker);
	if (walker->rule.place[CFI_RIP].where == CFI_UNDEFINED)
		return STEP_END;
	/* A return address is a word in memory; the memo relies on its being read, and last. */
	if (!is_in_memory(&walker->rule.place[CFI_RIP]) || !rule_cfa(walker, &cfa))
		return STEP_FAILED;
	for (enum cfi_register i = CFI_RBP; i < CFI_REGISTERS; i++)
		place[i] = rule_place(walker, i, cfa);
	place[CFI_RIP] = rule_place(walker, CFI_RIP, cfa);
	if (!read_place(walker, &place[CFI_RIP], &ip))
		return STEP_FAILED;
	memcpy(walker->place, place, sizeof(place));
	walker->ip = ip;
	walker->sp = cfa;
	walker->is_return = !walker->rule.signal;
	return STEP_ON;
}

/* Offsets in the kernel's struct ucontext, at rsp when the trampoline is entered. */
static const uint16_t ucontext_offset[CFI_REGISTERS] = {
	[CFI_R12] = 72, [CFI_R13] = 80, [CFI_R14] = 88, [CFI_R15] = 96,
	[CFI_RBP] = 120, [CFI_RBX] = 128, [CFI_RSP] = 160, [CFI_RIP] = 168,
};

static enum step step_trampoline(struct unwind_walker *walker)
{
	uint64_t ucontext = walker->sp, ip, sp;

	cursor_stop(walker);
	if (!read_data(walker, ucontext + ucontext_offset[CFI_RSP], &sp) ||
	    !read_data(walker, ucontext + ucontext_offset[CFI_RIP], &ip))
		return STEP_FAILED;
	for (enum cfi_register i = CFI_RBP; i < CFI_REGISTERS; i++)
		walker->place[i] = (struct place){ PLACE_MEMORY, ucontext + ucontext_offset[i] };
	walker->ip = ip;
	walker->sp = sp;
	walker->is_return = false;
	return STEP_ON;
}

static bool can_return_to(const struct unwind_walker *walker, uint64_t address)
{
	const struct module *module = modules_find(walker->modules, address);
	uint32_t flags = 0;

	if (!module)
		return modules_is_jit(walker->modules, address);
	if (module->kind == MODULE_JIT)
		return true;
	return module_bytes(module, address - module->bias, 1, &flags) && (flags & PF_X) &&
	       call_site_may_end_at(module, address - module->bias);
}

static enum step step_frame_pointer(struct unwind_walker *walker)
{
	struct place place[CFI_REGISTERS] = { { 0 } };
	uint64_t rbp, ip;

	cursor_stop(walker);
	if (!read_place(walker, &walker->place[CFI_RBP], &rbp) || (rbp & 7) != 0 ||
	    rbp - walker->sp >= FRAME_POINTER_REACH || !read_data(walker, rbp + 8, &ip))
		return STEP_FAILED;
	if (ip != 0 && !can_return_to(walker, ip))
		return STEP_FAILED;
	place[CFI_RBP] = (struct place){ PLACE_MEMORY, rbp };
	memcpy(walker->place, place, sizeof(place));
	walker->ip = ip;
	walker->sp = rbp + 16;
	walker->is_return = true;
	walker->guessed = true;
	return STEP_ON;
}

/*
 * Code without tables and rbp == 0: the ABI's mark of the deepest frame. musl's
 * _start and thread entry set it and have no call frame information.
 */
static enum step step_none(struct unwind_walker *walker)
{
	uint64_t rbp;

	cursor_stop(walker);
	if (!walker->module || walker->module->kind == MODULE_JIT ||
	    !read_place(walker, &walker->place[CFI_RBP], &rbp) || rbp != 0)
		return STEP_FAILED;
	return STEP_END;
}

/* ---- the walk ---- */

/*
 * Without a trace libunwind reads all anew, which is what the audit and the tests compare with.
 * 0, else as unwind_find_fde.
 */
static int find_fde(struct unwind_walker *walker, uint64_t address)
{
	int r;

	if (!walker->trace)
		return unwind_find_fde(walker->find, walker->module, address, &walker->fde);
	r = unwind_states_get(walker->states, walker->module, address, &walker->state);
	if (r == 0)
		walker->fde = walker->state.fde;
	return r;
}

/* Decides how to leave the current frame. 0 or -ENOMEM. */
static int find_way(struct unwind_walker *walker)
{
	uint64_t lookup = walker->ip - (walker->is_return ? 1 : 0), address;
	int r;

	walker->way = WAY_NONE;
	walker->module = modules_find(walker->modules, lookup);
	if (!walker->module || walker->module->kind == MODULE_JIT) {
		if (walker->module || modules_is_jit(walker->modules, lookup))
			walker->way = WAY_FRAME_POINTER;
		return 0;
	}
	address = lookup - walker->module->bias;
	r = find_fde(walker, address);
	if (r == 0) {
		walker->way = WAY_LIBUNWIND;
		return 0;
	}
	if (r == -ENOENT || r == -EOPNOTSUPP)
		r = cfi_rules_find(walker->rules, walker->module, address, &walker->rule);
	if (r == 0)
		walker->way = WAY_RULE;
	else if (signal_return_at(walker->module, walker->ip - walker->module->bias))
		walker->way = WAY_TRAMPOLINE;
	return r == -ENOMEM ? r : 0;
}

static bool is_signal(const struct unwind_walker *walker)
{
	return walker->way == WAY_TRAMPOLINE ||
	       (walker->way == WAY_LIBUNWIND && walker->fde.signal) ||
	       (walker->way == WAY_RULE && walker->rule.signal);
}

static struct frame current_frame(const struct unwind_walker *walker)
{
	uint32_t flags = walker->is_return ? FRAME_RETURN : 0;

	if (is_signal(walker))
		flags = FRAME_SIGNAL;
	if (walker->guessed)
		flags |= FRAME_GUESSED;
	return (struct frame){
		.module = walker->module ? walker->module->id : 0,
		.flags = flags,
		.offset = walker->ip - (walker->module ? walker->module->bias : 0),
	};
}

static enum step take_step(struct unwind_walker *walker)
{
	switch (walker->way) {
	case WAY_LIBUNWIND:
		return step_libunwind(walker);
	case WAY_RULE:
		return step_rule(walker);
	case WAY_TRAMPOLINE:
		return step_trampoline(walker);
	case WAY_FRAME_POINTER:
		return step_frame_pointer(walker);
	case WAY_NONE:
		break;
	}
	return step_none(walker);
}

/* One frame outwards. Stacks grow down: only a signal may have come from below or elsewhere. */
static enum step step_out(struct unwind_walker *walker)
{
	uint64_t sp = walker->sp;
	bool signal = is_signal(walker);
	enum step step;

	walker->guessed = false;
	unwind_trace_step(walker->trace);
	walker->step_budget = STEP_READS;
	step = take_step(walker);
	/* step_none() only compares what it read last with 0. */
	unwind_trace_check(walker->trace, walker->input, step == STEP_ON || walker->way == WAY_NONE,
			   step == STEP_ON);
	if (step == STEP_ON && walker->ip == 0)
		return STEP_END;
	if (step == STEP_ON && !signal && (walker->sp <= sp || walker->sp - sp >= 1ull << 40))
		return STEP_FAILED;
	return step;
}

static void walk_begin(struct unwind_walker *walker, const struct unwind_input *input,
		       struct memo_trace *trace)
{
	walker->input = input;
	walker->trace = trace;
	walker->budget = WALK_READS;
	walker->ip = input->registers.rip;
	walker->sp = input->registers.rsp;
	walker->is_return = input->first_is_return;
	walker->guessed = false;
	walker->cursor_valid = false;
	memset(walker->place, 0, sizeof(walker->place));
	for (enum cfi_register i = CFI_RBP; i < CFI_REGISTERS; i++)
		walker->place[i] = (struct place){ PLACE_INPUT, i };
	unwind_trace_begin(trace);
}

/* Whether the current ip is somewhere that code can be; the first is shown wherever it is. */
static bool is_code(const struct unwind_walker *walker)
{
	return walker->module || walker->way == WAY_FRAME_POINTER;
}

int unwind_walker_run(struct unwind_walker *walker, const struct unwind_input *input,
		      struct memo_trace *trace, struct frame *frame, uint32_t *ret_count,
		      enum unwind_end *ret_end)
{
	enum step step = STEP_ON;
	uint32_t count = 0;

	if (!input->stack && input->stack_bytes > 0)
		return -EINVAL;
	walk_begin(walker, input, trace);
	while (step == STEP_ON) {
		int r = find_way(walker);

		if (r < 0)
			return r;
		if (count == STACKS_MAX_FRAMES || (count > 0 && !is_code(walker))) {
			step = STEP_FAILED;
			break;
		}
		frame[count++] = current_frame(walker);
		step = step_out(walker);
	}
	*ret_count = count;
	*ret_end = step == STEP_END ? UNWIND_COMPLETE : UNWIND_TRUNCATED;
	return 0;
}

static const unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.access_mem = access_mem,
	.access_reg = access_reg,
};

int unwind_walker_new(const struct modules *modules, struct unwind_walker **ret)
{
	struct unwind_walker *walker = calloc(1, sizeof(*walker));
	int r;

	if (!walker)
		return -ENOMEM;
	walker->modules = modules;
	r = unwind_find_new(&walker->find);
	if (r == 0)
		r = cfi_rules_new(&walker->rules);
	if (r == 0)
		r = unwind_states_new(walker->find, &walker->states);
	walker->space = unwind_accessors_space(&accessors);
	if (r < 0 || !walker->space) {
		unwind_walker_free(walker);
		return -ENOMEM;
	}
	*ret = walker;
	return 0;
}

void unwind_walker_free(struct unwind_walker *walker)
{
	if (!walker)
		return;
	if (walker->space)
		unw_destroy_addr_space(walker->space);
	cfi_rules_free(walker->rules);
	unwind_states_free(walker->states);
	unwind_find_free(walker->find);
	free(walker);
}

void unwind_walker_stats(const struct unwind_walker *walker, struct unwind_states_stats *ret)
{
	unwind_states_stats(walker->states, ret);
}
