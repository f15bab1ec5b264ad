#!/bin/sh
# SPDX-License-Identifier: MIT
# A program in a packer's stub: the allocator of the running program is hooked, by its dynamic
# loader's list, and not the dead one of the stub, which is all that the kernel knows of.
# shellcheck disable=SC2034 # VICTIM_SELF is lib.sh's
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}"

$CC -w -std=gnu11 -O1 -static -o "$WORK/packed" "$SRCDIR/tests/victims/packed.c" ||
	skip "no static libc"
cat >"$WORK/blocks.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[100];

int main(void)
{
	char command, text[32];

	if (write(1, text, snprintf(text, sizeof(text), "ready %d\n", (int)getpid())) < 0)
		return 1;
	while (read(0, &command, 1) == 1 && command != 'q') {
		for (int i = 0; i < 100; i++)
			kept[i] = malloc(200);
		for (int i = 0; i < 30; i++)
			free(kept[i]);
		if (write(1, "done\n", 5) < 0)
			return 1;
	}
	return 0;
}
END
$CC -w -O1 -fno-builtin -o "$WORK/blocks" "$WORK/blocks.c" || fail "no test program"
loader=$(readelf -l "$WORK/blocks" | sed -n 's/.*interpreter: \(.*\)]/\1/p')

background blocks "$WORK/packed" "$WORK/blocks" "$loader"
VICTIM_SELF=$LAST
await 60 grep -q '^ready' "$WORK/blocks.out" || fail "not ready: $(cat "$WORK/blocks.err")"
VICTIM=$(sed -n 's/^ready //p' "$WORK/blocks.out")
pristine_take "$VICTIM"
# shellcheck disable=SC2086 # several words
attach_begin -p "$VICTIM" $EXACT --json
attach_await "$VICTIM"
tell blocks g
await 60 grep -q '^done' "$WORK/blocks.out" || fail "no answer: $(cat "$WORK/blocks.err")"
attach_end INT
expect "$STATUS" 0 "exit status"
json_expect .session.detached pristine
pristine_check "$VICTIM"
json_expect '[.target.allocators[].module | select(endswith("/packed"))] | length' 0
json_expect .totals.alloc_count 100
json_expect .totals.alloc_bytes 20000
json_expect .totals.free_count 30
ended blocks
