/* SPDX-License-Identifier: MIT */
/*
 * locals.h - which function and local variable a word of a stack, or a register, belongs to.
 *
 * Each thread is unwound once, when it is first asked about; then a word belongs to a frame,
 * and DWARF knows the variables of that frame.
 */
#ifndef MEMATTACH_LEAK_LOCALS_H
#define MEMATTACH_LEAK_LOCALS_H

#include "src/debuginfo/fields.h"
#include "src/memory/picture.h"

struct local {
	char function[DEBUG_NAME_BYTES];	/* "" unknown */
	char variable[DEBUG_NAME_BYTES];	/* "" unknown */
	uint64_t address;	/* where the variable begins, 0: it is in a register */
	struct field_type type;
};
struct locals;
/* All are borrowed and must outlive the locals. 0 or -ENOMEM. */
int locals_new(const struct picture *picture, const struct modules *modules,
	       struct fields *fields, struct locals **ret) _must_check_;
void locals_free(struct locals *locals);
/* The word at address, on a stack of thread tid. False: it lies in no known frame. */
bool locals_at(struct locals *locals, int32_t tid, uint64_t address, struct local *ret);
/* The register with this index in struct user_regs_struct. False: no variable lives there. */
bool locals_register(struct locals *locals, int32_t tid, uint32_t number, struct local *ret);

#endif
