#!/bin/sh
# SPDX-License-Identifier: MIT
# A burst of samples on a fiber, of whose stack nobody knows the end, while memattach gets no
# processor: nearly all of them have their stacks.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/burst.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t outside, fiber;
static void *volatile kept[3000];
__attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 3000; i++) {
		free(kept[i]);
		kept[i] = malloc(200);
	}
}
static void fiber_main(void)
{
	for (;;) {
		work();
		swapcontext(&fiber, &outside);
	}
}
int main(void)
{
	char line[20];

	getcontext(&fiber);
	fiber.uc_stack.ss_size = 256 * 1024;
	fiber.uc_stack.ss_sp = malloc(fiber.uc_stack.ss_size);
	makecontext(&fiber, fiber_main, 0);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		swapcontext(&outside, &fiber);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
END
$CC -g -O1 -fno-builtin -D_GNU_SOURCE -o "$WORK/burst" "$WORK/burst.c" || fail "compiling"
background burst "$WORK/burst"
VICTIM=$LAST
await 20 grep -q ready "$WORK/burst.out" || fail "not ready"
pristine_take "$VICTIM"
# Rings of 512 KiB and more, however many processors share them.
attach_begin -p "$VICTIM" --sample=2048 --ring-size=$((8 + $(nproc --all)))M --json
attach_await "$VICTIM"
starved=$(attach_processes)
# shellcheck disable=SC2086
kill -STOP $starved
tell burst '
'
await 30 grep -q done "$WORK/burst.out" || fail "not done"
# shellcheck disable=SC2086
kill -CONT $starved
attach_end INT
expect "$STATUS" 0 "exit status"
json_expect .session.detached pristine
pristine_check "$VICTIM"
note "$(json '[.session.events.alloc, .session.lost.alloc, .session.lost.stack] | tostring')"
[ "$(json .session.events.alloc)" -ge 200 ] || fail "too few samples"
json_expect '.session.lost.stack * 20 <= .session.events.alloc' true
json_expect '([.sites[].samples] | add) as $all |
	([.sites[] | select(.frames[1].function == "fiber_main") | .samples] | add) >= $all * 0.9' \
	true
kill "$VICTIM"
