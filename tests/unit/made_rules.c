/* SPDX-License-Identifier: MIT */
/* made_rules.c - see made_rules.h. */
#include "tests/unit/made_rules.h"

#include <string.h>

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

/* Rule 0 copies, 1 ends, 2 cuts, 3 leaves call_on; from 4 on the places; then JIT code. */
void made_rules_publish(struct made_rules *made, struct ring_control *control)
{
	struct rules_head *head = (void *)((uint8_t *)control + control->rules_offset);
	struct rules_rule *rule = (void *)((uint8_t *)head + RULES_RULE_AT);
	uint64_t which = (made->generation + 1) & 1, here = (uint64_t)call_on_return;
	struct rules_module *module = (void *)((uint8_t *)head + RULES_DIRECTORY_AT(which));
	struct rules_row row[MADE_PLACES] = { { 0, 0 } }, own[1] = { { 0, 3 } },
			 end[1] = { { 0, 1 } };
	uint32_t used = 0;
	bool code_first = MADE_CODE < here;

	rule[1] = (struct rules_rule){ .kind = RULES_END };
	rule[2] = (struct rules_rule){ .kind = RULES_CUT };
	rule[3] = (struct rules_rule){ .kind = RULES_STEP, .cfa = 8 };
	for (uint32_t i = 0; i < MADE_PLACES; i++) {
		rule[4 + i] = made->rule[i];
		row[i] = (struct rules_row){ 16 * i, 4 + i };
	}
	rule[4 + MADE_PLACES] = made_guess;
	module[code_first ? 0 : 1] = module_put(head, MADE_CODE, MADE_CODE + 16 * MADE_PLACES,
						row, MADE_PLACES, &used);
	module[code_first ? 1 : 2] = (struct rules_module){
		.low = MADE_JIT, .high = MADE_JIT + MADE_JIT_BYTES, .rule = 4 + MADE_PLACES,
	};
	module[code_first ? 2 : 0] = module_put(head, here - 16, here + 16, own, 1, &used);
	module[3] = module_put(head, (uint64_t)made->low, (uint64_t)made->high, end, 1, &used);
	head->count[which] = 4;
	head->modules[which] = control->module_generation;
	head->generation = ++made->generation;
}
