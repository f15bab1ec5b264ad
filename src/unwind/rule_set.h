/* SPDX-License-Identifier: MIT */
/*
 * rule_set.h - the distinct rules of all modules (inject/abi/rules_abi.h), append-only.
 */
#ifndef MEMATTACH_RULE_SET_H
#define MEMATTACH_RULE_SET_H

#include "inject/abi/rules_abi.h"
#include "src/base/cleanup.h"

/* These are in every set, at these places. */
#define RULE_SET_COPY	0u
#define RULE_SET_END	1u
#define RULE_SET_CUT	2u
#define RULE_SET_GUESS	3u

struct rule_set {
	struct rules_rule *rule;	/* room for RULES_MAX_RULES; what is there never changes */
	uint32_t count;
	uint16_t *slot;			/* by hash: index of a rule + 1, 0: free */
};

/* 0 or -ENOMEM. */
int rule_set_init(struct rule_set *set) _must_check_;
/* A zeroed set too. */
void rule_set_done(struct rule_set *set);
/* The index of rule, which is added unless it is there; RULE_SET_COPY when the set is full. */
uint32_t rule_set_add(struct rule_set *set, const struct rules_rule *rule);

#endif
