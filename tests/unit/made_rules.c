/* SPDX-License-Identifier: MIT */
/* made_rules.c - see made_rules.h. */
#include "tests/unit/made_rules.h"

#include <stdlib.h>
#include <string.h>

#define MADE_BANKS 120u	/* so many that the shim has no hints for the last ones' rules */

__asm__(".text\n"
	".globl call_on\n"
	".type call_on, @function\n"
	"call_on:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	mov %rsp, %r12\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rsp\n"
	"	mov %rdx, %rbp\n"
	"	mov %rcx, %rbx\n"
	"	mov $16, %edi\n"
	"	call *%rax\n"
	".globl call_on_return\n"
	"call_on_return:\n"
	"	mov %r12, %rsp\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size call_on, . - call_on\n");

const struct rules_rule made_guess = {
	.kind = RULES_GUESS, .base = RULES_BASE_RBP, .flags = RULES_SAVES_RBP, .cfa = 16,
	.rbp = -16,
};

const struct rules_rule made_wide[2] = {
	{ .kind = RULES_STEP, .cfa = 8 }, { .kind = RULES_STEP, .cfa = 16 },
};

static struct rules_module module_put(struct rules_head *head, uint64_t low, uint64_t high,
				      const struct rules_row *row, uint32_t rows, uint32_t *used)
{
	uint8_t *arena = (uint8_t *)head + RULES_ARENA_AT;
	uint32_t pages = (uint32_t)((high - low + 255) >> RULES_PAGE_LOG2), at = 0;
	struct rules_module module = { .low = low, .high = high, .row_at = *used / 8,
				       .row_count = rows };

	memcpy(arena + *used, row, rows * sizeof(*row));
	*used += rows * 8;
	module.index_at = *used / 4;
	for (uint32_t i = 0; i <= pages; i++) {
		while (at + 1 < rows && row[at + 1].start <= i << RULES_PAGE_LOG2)
			at++;
		memcpy(arena + *used, &at, sizeof(at));
		*used += 4;
	}
	*used = (*used + 7) & ~7u;
	return module;
}

static struct rules_module put_wide(struct rules_head *head, uint32_t rule, uint32_t *used)
{
	static struct rules_row row[MADE_WIDE_PLACES];

	for (uint32_t i = 0; i < MADE_WIDE_PLACES; i++)
		row[i] = (struct rules_row){ 256 * i, rule + (i & 1) };
	return module_put(head, MADE_WIDE, MADE_WIDE + 256 * MADE_WIDE_PLACES, row,
			  MADE_WIDE_PLACES, used);
}

static int by_low(const void *a, const void *b)
{
	const struct rules_module *left = a, *right = b;

	return left->low < right->low ? -1 : left->low > right->low;
}

/*
 * Rule 0 copies, 1 ends, 2 cuts, 3 leaves call_on, 4 is of JIT code; then two of MADE_WIDE and the
 * places', elsewhere each time: what a rule says does not change as long as anybody might use it.
 */
void made_rules_publish(struct made_rules *made, struct ring_control *control)
{
	struct rules_head *head = (void *)((uint8_t *)control + control->rules_offset);
	struct rules_rule *rule = (void *)((uint8_t *)head + RULES_RULE_AT);
	uint64_t which = (made->generation + 1) & 1, here = (uint64_t)call_on_return;
	struct rules_module *module = (void *)((uint8_t *)head + RULES_DIRECTORY_AT(which));
	struct rules_row row[MADE_PLACES] = { { 0, 0 } }, own[1] = { { 0, 3 } },
			 end[1] = { { 0, 1 } };
	uint32_t bank = (uint32_t)(made->generation % MADE_BANKS);
	uint32_t used = 0, first = 5 + (2 + MADE_PLACES) * bank;

	rule[1] = (struct rules_rule){ .kind = RULES_END };
	rule[2] = (struct rules_rule){ .kind = RULES_CUT };
	rule[3] = (struct rules_rule){ .kind = RULES_STEP, .cfa = 8 };
	rule[4] = made_guess;
	memcpy(rule + first, made_wide, sizeof(made_wide));
	first += 2;
	for (uint32_t i = 0; i < MADE_PLACES; i++) {
		rule[first + i] = made->rule[i];
		row[i] = (struct rules_row){ 16 * i, first + i };
	}
	module[0] = module_put(head, MADE_CODE, MADE_CODE + 16 * MADE_PLACES, row, MADE_PLACES,
			       &used);
	module[1] = (struct rules_module){
		.low = MADE_JIT, .high = MADE_JIT + MADE_JIT_BYTES, .rule = 4,
	};
	module[2] = module_put(head, here - 16, here + 16, own, 1, &used);
	module[3] = module_put(head, (uint64_t)made->low, (uint64_t)made->high, end, 1, &used);
	module[4] = put_wide(head, first - 2, &used);
	head->count[which] = 5;
	qsort(module, head->count[which], sizeof(*module), by_low);
	head->modules[which] = control->module_generation;
	head->generation = ++made->generation;
}
