#!/bin/sh
# SPDX-License-Identifier: MIT
# A fiber whose stack was filled with a return address before it began: a walk that leaves its first
# frame reads the same address in every word. One such frame is kept, not as many as a stack may
# have; a true recursion is believed at any depth.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/filled.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define WORDS 8192
static uint64_t stack[WORDS] __attribute__((aligned(4096)));
static void *main_sp, *fiber_sp, *filling;
static void *volatile kept[100];
void switch_to(void **save, void *to);
__asm__(".text\n.type switch_to, @function\nswitch_to:\n.cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\npush %rbx\n.cfi_adjust_cfa_offset 8\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\npush %r13\n.cfi_adjust_cfa_offset 8\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\npush %r15\n.cfi_adjust_cfa_offset 8\n"
	"mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
	"pop %r15\n.cfi_adjust_cfa_offset -8\npop %r14\n.cfi_adjust_cfa_offset -8\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\npop %r12\n.cfi_adjust_cfa_offset -8\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\npop %rbp\n.cfi_adjust_cfa_offset -8\n"
	"ret\n.cfi_endproc\n.size switch_to, . - switch_to\n");
__attribute__((noinline)) void on_fiber(void)
{
	filling = __builtin_return_address(0);
	for (int i = 0; i < 100; i++)
		kept[i] = malloc(100);
	__asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void fiber_main(void)
{
	on_fiber();
	if (fiber_sp)
		switch_to(&fiber_sp, main_sp);
	__asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void deep(int left)
{
	if (left)
		deep(left - 1);
	else
		kept[0] = malloc(5000);
	__asm__ volatile("" ::: "memory");
}
int main(void)
{
	uint64_t *sp = &stack[WORDS / 2];

	fiber_main();			/* tells what to fill with */
	for (int i = 0; i < WORDS; i++)
		stack[i] = (uint64_t)filling;
	*--sp = (uint64_t)filling;	/* where fiber_main would return to */
	*--sp = (uint64_t)fiber_main;
	fiber_sp = sp - 6;
	switch_to(&main_sp, fiber_sp);
	deep(3000);
	return 0;
}
END
$CC -g -O1 -fno-builtin -fno-optimize-sibling-calls -o "$WORK/filled" "$WORK/filled.c" ||
	fail "compiling"

# frames FUNCTION: of the sites that FUNCTION calls malloc in, how many, the most.
frames() {
	json "[.sites[] | select(.frames[0].function == \"$1\" or .frames[1].function == \"$1\") |
		.frames | length] | max"
}

for how in recognise copy; do
	note "$how"
	attach run --exact --on-overflow=block --stacks=$how --json -- "$WORK/filled"
	expect "$STATUS" 0 "exit status"
	json_valid
	expect "$(json .totals.alloc_count)" 201 "allocations"
	longest=$(frames on_fiber)
	[ "$longest" -ge 2 ] && [ "$longest" -le 7 ] || fail "$longest frames on a filled stack"
	json_expect '.session.stacks.truncated >= 1' true
	json_expect .session.stacks.mismatched 0
	longest=$(frames deep)
	[ "$longest" -ge 1000 ] || fail "$longest frames of a recursion 3,000 deep"
done
