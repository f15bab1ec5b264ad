/* SPDX-License-Identifier: MIT */
/*
 * fuzz_cfi_table.c - hostile call frame information, compiled to rows of rules.
 *
 * Whatever comes, rows and index are what struct rules_module promises, and whoever walks by
 * the rules comes to the unwinder's frames or to RULES_COPY.
 */
#include <string.h>

#include "tests/fuzz/fuzz_module.h"
#include "tests/unit/rules_follower.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool it_is_so)
{
	if (!it_is_so)
		abort();
}

static void check_rule(const struct rules_rule *rule)
{
	demand(rule->kind <= RULES_GUESS && rule->base <= RULES_BASE_RBX && rule->reserved == 0);
	demand(rule->cfa % 8 == 0 && rule->rbp % 8 == 0 && rule->rbx % 8 == 0);
}

static void check_table(const struct cfi_table *table, const struct rule_set *set)
{
	demand(table->row_count > 0 && table->row[0].start == 0);
	for (uint32_t i = 0; i < table->row_count; i++) {
		demand(i == 0 || table->row[i].start > table->row[i - 1].start);
		demand(table->low + table->row[i].start < table->high);
		demand(table->row[i].rule < set->count);
	}
	for (uint32_t i = 0; i < table->index_count; i++) {
		uint32_t row = table->index[i];
		uint64_t at = (uint64_t)i << RULES_PAGE_LOG2;

		demand(row < table->row_count && table->row[row].start <= at);
		demand(row + 1 == table->row_count || table->row[row + 1].start > at);
	}
}

static void check_all(const struct follower *follower)
{
	for (uint32_t i = 0; i < follower->set.count; i++)
		check_rule(&follower->set.rule[i]);
	for (uint32_t i = 0; i < follower->count; i++) {
		if (follower->table[i].row)
			check_table(&follower->table[i], &follower->set);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file file;
	static uint64_t stack[FUZZ_STACK_WORDS];
	struct fuzz_input input = { data, size };
	struct unwind_input walk = { 0 };
	struct unwinder *unwinder;
	struct follower follower;
	struct modules *modules;

	fuzz_module_make(&file, &input);
	fuzz_module_stack(&walk, stack, &input);
	walk.first_is_return = true;
	modules = fuzz_module_load(&file);
	demand(unwinder_new(modules, &unwinder) == 0 && follower_init(&follower, modules));
	check_all(&follower);
	for (int i = 0; i < 4; i++) {
		demand(follower_agrees(&follower, unwinder, &walk));
		walk.registers.rip += 1 + 64u * (uint64_t)i;
	}
	follower_done(&follower);
	unwinder_free(unwinder);
	modules_free(modules);
	return 0;
}
