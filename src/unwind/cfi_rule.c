/* SPDX-License-Identifier: MIT */
/*
 * cfi_rule.c - how to leave one frame, according to libdw.
 *
 * libdw's public interface answers with DWARF operations; the few shapes that
 * compilers write are turned into a struct cfi_rule, everything else is refused
 * (the stack is truncated there, never guessed). Rules are kept per address, as
 * libdw searches .eh_frame without a table from the start.
 * Only the module's own file is asked: unwinding must not depend on whether a
 * debug file is installed, nor wait for a debuginfod.
 * elfutils (0.188) lists register 0 for %rbx in its x86-64 defaults, so that rbx
 * comes back as undefined where it is unchanged; callee-saved registers
 * that are "undefined" are taken as unchanged, which the ABI promises.
 * libdw allocates, and writes, 16 bytes for each register up to the highest that is named,
 * which hostile information makes gigabytes: it gets little memory while it runs.
 */
#include "src/unwind/cfi_rule.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "src/base/data_limit.h"
#include "src/base/hashmap.h"
#include "src/debuginfo/dwarf_file.h"

#define MAX_RULES	(1u << 18)
#define LIBDW_BYTES	(64u << 20)	/* that a row may take; an honest one takes 500 */

static const uint8_t dwarf_number[CFI_REGISTERS] = {
	[CFI_RIP] = 16, [CFI_RSP] = 7, [CFI_RBP] = 6, [CFI_RBX] = 3,
	[CFI_R12] = 12, [CFI_R13] = 13, [CFI_R14] = 14, [CFI_R15] = 15,
};

unsigned int cfi_dwarf_number(enum cfi_register which)
{
	return dwarf_number[which];
}

struct rule_entry {
	struct cfi_rule rule;
	int result;
};

struct rule_module {
	bool opened;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame;	/* ours to end */
	Dwarf_CFI *debug_frame;	/* libdw's */
	struct hashmap index;	/* address -> index in entry */
};

struct cfi_rules {
	int statm;			/* of this process; -1 */
	struct rule_module *module;	/* [module id - 1] */
	uint32_t module_count;
	struct rule_entry *entry;
	uint32_t count, capacity;
};

int cfi_rules_new(struct cfi_rules **ret)
{
	struct cfi_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	rules->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	*ret = rules;
	return 0;
}

static void module_done(struct rule_module *module)
{
	if (module->eh_frame)
		dwarf_cfi_end(module->eh_frame);
	if (module->dwarf)
		dwarf_end(module->dwarf);
	if (module->elf)
		elf_end(module->elf);
	hashmap_done(&module->index);
}

void cfi_rules_free(struct cfi_rules *rules)
{
	if (!rules)
		return;
	for (uint32_t i = 0; i < rules->module_count; i++)
		module_done(&rules->module[i]);
	cleanup_fd(&rules->statm);
	free(rules->module);
	free(rules->entry);
	free(rules);
}

static void open_module(struct rule_module *entry, const struct module *module)
{
	entry->opened = true;
	entry->elf = dwarf_file_elf(module);
	if (!entry->elf)
		return;
	entry->eh_frame = dwarf_getcfi_elf(entry->elf);
	entry->dwarf = dwarf_begin_elf(entry->elf, DWARF_C_READ, NULL);
	if (entry->dwarf)
		entry->debug_frame = dwarf_getcfi(entry->dwarf);
}

static struct rule_module *get_module(struct cfi_rules *rules, const struct module *module)
{
	if (module->id > rules->module_count) {
		uint32_t count = module->id + 15;
		struct rule_module *table = reallocarray(rules->module, count, sizeof(*table));

		if (!table)
			return NULL;
		memset(table + rules->module_count, 0,
		       (count - rules->module_count) * sizeof(*table));
		rules->module = table;
		rules->module_count = count;
	}
	if (!rules->module[module->id - 1].opened)
		open_module(&rules->module[module->id - 1], module);
	return &rules->module[module->id - 1];
}

/* One of ours, or CFI_REGISTERS. */
static enum cfi_register from_dwarf(uint64_t number)
{
	enum cfi_register i;

	for (i = CFI_RIP; i < CFI_REGISTERS; i++) {
		if (dwarf_number[i] == number)
			break;
	}
	return i;
}

/* An operation that pushes register + offset; false for all others. */
static bool register_operation(const Dwarf_Op *op, enum cfi_register *ret, int64_t *ret_offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*ret = from_dwarf((uint64_t)op->atom - DW_OP_breg0);
		*ret_offset = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		*ret = from_dwarf(op->number);
		*ret_offset = (int64_t)op->number2;
	} else {
		return false;
	}
	return *ret < CFI_REGISTERS;
}

/* register+offset [+constant] [deref [+constant]] */
static int read_cfa(const Dwarf_Op *op, size_t count, struct cfi_rule *rule)
{
	size_t i = 1;

	if (count == 0 || !register_operation(&op[0], &rule->cfa_base, &rule->cfa_offset))
		return -EOPNOTSUPP;
	if (i < count && op[i].atom == DW_OP_plus_uconst)
		rule->cfa_offset += (int64_t)op[i++].number;
	if (i < count && op[i].atom == DW_OP_deref) {
		rule->cfa_deref = true;
		i++;
		if (i < count && op[i].atom == DW_OP_plus_uconst)
			rule->cfa_add = (int64_t)op[i++].number;
	}
	return i == count ? 0 : -EOPNOTSUPP;
}

/* cfa [+constant] [stack_value], or [cfa] register+offset */
static int read_place(const Dwarf_Op *op, size_t count, struct cfi_place *ret)
{
	struct cfi_place place = { .where = CFI_AT_CFA };
	size_t i = 0;

	if (i < count && op[i].atom == DW_OP_call_frame_cfa)
		i++;
	if (i < count && register_operation(&op[i], &place.base, &place.offset)) {
		place.where = CFI_AT_REGISTER;
		i++;
	} else if (i == 0) {
		return -EOPNOTSUPP;
	}
	if (i < count && op[i].atom == DW_OP_plus_uconst)
		place.offset += (int64_t)op[i++].number;
	if (i < count && op[i].atom == DW_OP_stack_value && place.where == CFI_AT_CFA) {
		place.where = CFI_IS_CFA;
		i++;
	}
	if (i != count)
		return -EOPNOTSUPP;
	*ret = place;
	return 0;
}

static int read_register(Dwarf_Frame *frame, enum cfi_register which, struct cfi_place *ret)
{
	Dwarf_Op memory[3], *op;
	size_t count;

	if (dwarf_frame_register(frame, dwarf_number[which], memory, &op, &count) != 0)
		return -EOPNOTSUPP;
	if (count > 0)
		return read_place(op, count, ret);
	*ret = (struct cfi_place){ .where = CFI_SAME };
	if (which == CFI_RIP && op == memory)
		ret->where = CFI_UNDEFINED;
	return 0;
}

static int read_frame(Dwarf_Frame *frame, struct cfi_rule *ret)
{
	struct cfi_rule rule = { 0 };
	Dwarf_Op *op;
	size_t count;
	int r;

	if (dwarf_frame_info(frame, NULL, NULL, &rule.signal) != dwarf_number[CFI_RIP] ||
	    dwarf_frame_cfa(frame, &op, &count) != 0)
		return -EOPNOTSUPP;
	r = read_cfa(op, count, &rule);
	for (enum cfi_register i = CFI_RIP; i < CFI_REGISTERS && r == 0; i++) {
		if (i != CFI_RSP)
			r = read_register(frame, i, &rule.place[i]);
	}
	if (r == 0)
		*ret = rule;
	return r;
}

static int cfi_rule_ask(int statm, Dwarf_CFI *cfi, uint64_t address, struct cfi_rule *ret)
{
	Dwarf_Frame *frame;
	struct rlimit before;
	bool limited;
	int r;

	if (!cfi)
		return -ENOENT;
	limited = data_limit_begin(statm, LIBDW_BYTES, &before);
	r = dwarf_cfi_addrframe(cfi, address, &frame);
	if (limited)
		(void)setrlimit(RLIMIT_DATA, &before);
	if (r != 0)
		return -ENOENT;
	r = read_frame(frame, ret);
	free(frame);
	return r;
}

static int remember(struct cfi_rules *rules, struct rule_module *module, uint64_t address,
		    const struct rule_entry *entry)
{
	int r;

	if (rules->count == MAX_RULES)
		return 0;	/* more places than any program has: just slower from here on */
	if (rules->count == rules->capacity) {
		uint32_t capacity = rules->capacity ? rules->capacity * 2 : 64;
		struct rule_entry *table = reallocarray(rules->entry, capacity, sizeof(*table));

		if (!table)
			return -ENOMEM;
		rules->entry = table;
		rules->capacity = capacity;
	}
	r = hashmap_put(&module->index, address, rules->count);
	if (r == 0)
		rules->entry[rules->count++] = *entry;
	return r;
}

int cfi_rules_find(struct cfi_rules *rules, const struct module *module, uint64_t address,
		   struct cfi_rule *ret)
{
	struct rule_module *known = get_module(rules, module);
	struct rule_entry entry = { 0 };
	uint64_t at;
	int r;

	if (!known)
		return -ENOMEM;
	if (hashmap_get(&known->index, address, &at)) {
		entry = rules->entry[at];
	} else {
		entry.result = cfi_rule_ask(rules->statm, known->eh_frame, address, &entry.rule);
		if (entry.result == -ENOENT)
			entry.result = cfi_rule_ask(rules->statm, known->debug_frame, address,
						    &entry.rule);
		r = remember(rules, known, address, &entry);
		if (r < 0)
			return r;
	}
	if (entry.result == 0)
		*ret = entry.rule;
	return entry.result;
}
