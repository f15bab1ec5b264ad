#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that locks all its memory, also what will be mapped: entered and left as any other.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/locked.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return 77;
	puts("locked");
	fflush(stdout);
	for (int i = 0; i < 300000 && getppid() != 1; i++) {
		void *volatile block = malloc(100);

		free(block);
		usleep(500);
	}
	return 0;
}
END
$CC -o "$WORK/locked" "$WORK/locked.c" || fail "$CC"
background locked "$WORK/locked"
locked=$LAST
is_locked() { is_gone "$locked" || grep -q locked "$WORK/locked.out"; }
await 30 is_locked || fail "it does not begin"
is_gone "$locked" && skip "memory can't be locked here"
for mode in --exact --sample=4096 --counts; do
	pristine_take "$locked"
	attach -p "$locked" $mode -d 0.3 --json
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$locked"
done
