/* SPDX-License-Identifier: MIT */
/*
 * cfi_rule_publish.c - a rule in the shape that the shim follows.
 *
 * The shim knows rsp, rbp and rbx, and nothing of r12 to r15: those are followed
 * by no rule, so where they are does not matter as long as finding them can't
 * fail, which would end the walker's walk.
 */
#include "src/unwind/cfi_rule_publish.h"

#define WORD	((int64_t)sizeof(uint64_t))

static bool fits(int64_t offset)
{
	return offset % WORD == 0 && offset >= INT32_MIN && offset <= INT32_MAX;
}

static bool publish_base(enum cfi_register from, struct rules_rule *rule)
{
	switch (from) {
	case CFI_RSP:
		rule->base = RULES_BASE_RSP;
		return true;
	case CFI_RBP:
		rule->base = RULES_BASE_RBP;
		return true;
	case CFI_RBX:
		rule->base = RULES_BASE_RBX;
		return true;
	default:
		return false;
	}
}

/* A frame's end must lie above its begin, or the walk ends there. */
static bool publish_cfa(const struct cfi_rule *from, struct rules_rule *rule)
{
	if (!publish_base(from->cfa_base, rule) || !fits(from->cfa_offset) || from->cfa_add != 0)
		return false;
	if (from->cfa_base == CFI_RSP && !from->cfa_deref && from->cfa_offset < WORD)
		return false;
	if (from->cfa_deref)
		rule->flags |= RULES_DEREF;
	rule->cfa = (int32_t)from->cfa_offset;
	return true;
}

static bool publish_place(const struct cfi_place *place, uint8_t saved, uint8_t by_rbp,
			  uint8_t *flags, int32_t *ret)
{
	if (place->where == CFI_SAME)
		return true;
	if (place->where == CFI_AT_REGISTER && place->base == CFI_RBP)
		*flags |= by_rbp;
	else if (place->where != CFI_AT_CFA)
		return false;
	*flags |= saved;
	*ret = (int32_t)place->offset;
	return fits(place->offset);
}

static bool is_harmless(const struct cfi_place *place)
{
	switch (place->where) {
	case CFI_SAME:
	case CFI_UNDEFINED:
	case CFI_AT_CFA:
		return true;
	case CFI_AT_REGISTER:
		return place->base == CFI_RSP || place->base == CFI_RBP || place->base == CFI_RBX;
	case CFI_IS_CFA:
		break;
	}
	return false;
}

static bool publish(const struct cfi_rule *from, struct rules_rule *rule)
{
	const struct cfi_place *rip = &from->place[CFI_RIP];

	if (from->signal || !publish_cfa(from, rule) || from->place[CFI_RSP].where != CFI_SAME)
		return false;
	for (enum cfi_register i = CFI_R12; i <= CFI_R15; i++) {
		if (!is_harmless(&from->place[i]))
			return false;
	}
	/* The walker finds the CFA even so, and does not get on without rbp if that needs it. */
	if (rip->where == CFI_UNDEFINED && rule->base == RULES_BASE_RSP && !from->cfa_deref) {
		*rule = (struct rules_rule){ .kind = RULES_END };
		return true;
	}
	return rip->where == CFI_AT_CFA && rip->offset == -WORD &&
	       publish_place(&from->place[CFI_RBP], RULES_SAVES_RBP, RULES_RBP_BY_RBP,
			     &rule->flags, &rule->rbp) &&
	       publish_place(&from->place[CFI_RBX], RULES_SAVES_RBX, RULES_RBX_BY_RBP,
			     &rule->flags, &rule->rbx);
}

struct rules_rule cfi_rule_publish(const struct cfi_rule *rule)
{
	struct rules_rule published = { .kind = RULES_STEP };

	if (!publish(rule, &published))
		return (struct rules_rule){ .kind = RULES_COPY };
	return published;
}
