/* SPDX-License-Identifier: MIT */
/*
 * rule_table.h - compiles the mapped modules' call frame information and publishes it to the
 * shim (inject/abi/rules_abi.h, docs/RECOGNITION.md).
 */
#ifndef MEMATTACH_RULE_TABLE_H
#define MEMATTACH_RULE_TABLE_H

#include "inject/abi/ring_abi.h"
#include "src/modules/modules.h"

struct rule_table_stats {
	uint32_t modules, rules;	/* published; distinct rules of all modules */
	uint64_t rows, bytes;		/* rows of all modules; their memory in the target */
	uint32_t jit;			/* ranges of code that was made at run time, of modules */
	uint32_t left_out;		/* modules with rules for which there is no room */
};

struct rule_table;
/*
 * For the shared memory at control, mapped_bytes of it. 0; -ENOTSUP it has no room for rules;
 * -EBADMSG what it says of that room is impossible; -ENOMEM.
 */
int rule_table_new(struct ring_control *control, size_t mapped_bytes, struct rule_table **ret)
	_must_check_;
void rule_table_free(struct rule_table *table);
/*
 * Publishes the rules of modules, which were read while control.module_generation was
 * generation. look_again reads the maps once more: 0 if nothing changed by it. Compiles what is
 * new: some 100 ns for a row. 0; -EAGAIN the target changed meanwhile: nothing holds until the
 * next try; -ENOMEM.
 */
int rule_table_publish(struct rule_table *table, const struct modules *modules,
		       uint64_t generation, int (*look_again)(void *context), void *context);
/* Is what was published for the modules that are mapped now, and for all of them? */
bool rule_table_holds(const struct rule_table *table, const struct modules *modules);
void rule_table_stats(const struct rule_table *table, struct rule_table_stats *ret);

#endif
