/* SPDX-License-Identifier: MIT */
/*
 * rule_set.c - the distinct rules of all modules.
 *
 * Programs have some hundreds to a few thousand. There is room for all that can
 * be published from the start, so that a rule's place is known once it is added
 * and the set can be copied to the target while it grows. A full set is no
 * error: code whose rules find no place is unwound from copies.
 */
#include "src/unwind/rule_set.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/hashmap.h"

#define SLOTS	(2 * RULES_MAX_RULES)	/* a power of two, half of them stay free */

_Static_assert(RULES_MAX_RULES < UINT16_MAX, "an index + 1 fits into a slot");

int rule_set_init(struct rule_set *set)
{
	static const struct rules_rule first[] = {
		[RULE_SET_COPY] = { .kind = RULES_COPY }, [RULE_SET_END] = { .kind = RULES_END },
		[RULE_SET_CUT] = { .kind = RULES_CUT },
		[RULE_SET_GUESS] = { .kind = RULES_GUESS, .base = RULES_BASE_RBP, .cfa = 16,
				     .flags = RULES_SAVES_RBP, .rbp = -16 },
	};

	*set = (struct rule_set){
		.rule = calloc(RULES_MAX_RULES, sizeof(*set->rule)),
		.slot = calloc(SLOTS, sizeof(*set->slot)),
	};
	if (!set->rule || !set->slot) {
		rule_set_done(set);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		rule_set_add(set, &first[i]);
	return 0;
}

void rule_set_done(struct rule_set *set)
{
	free(set->rule);
	free(set->slot);
	*set = (struct rule_set){ 0 };
}

/* Two words hold all of a rule. */
static uint32_t first_slot(const struct rules_rule *rule)
{
	uint64_t word[2];

	_Static_assert(sizeof(word) == sizeof(*rule), "no bytes of a rule are left out");
	memcpy(word, rule, sizeof(word));
	return (uint32_t)hashmap_hash(word[0] ^ hashmap_hash(word[1])) & (SLOTS - 1);
}

uint32_t rule_set_add(struct rule_set *set, const struct rules_rule *rule)
{
	uint32_t slot = first_slot(rule);

	for (; set->slot[slot] != 0; slot = (slot + 1) & (SLOTS - 1)) {
		uint32_t at = set->slot[slot] - 1u;

		if (memcmp(&set->rule[at], rule, sizeof(*rule)) == 0)
			return at;
	}
	if (set->count == RULES_MAX_RULES)
		return RULE_SET_COPY;
	set->rule[set->count++] = *rule;
	set->slot[slot] = (uint16_t)set->count;
	return set->count - 1;
}
