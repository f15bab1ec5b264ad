#!/bin/sh
# SPDX-License-Identifier: MIT
# memattach with an allocator preloaded into itself, as LD_PRELOAD in a shell does: some keep
# descriptors of their own (tcmalloc has libunwind's pipe), which our processes give up.
. "$(dirname "$0")/lib.sh"
needs jq

# preloaded LIBRARY: a command and a process that runs; the command has the allocator, too.
preloaded() {
	LD_PRELOAD=$1 timeout 60 "$MEMATTACH" run $EXACT --json -- "$WORK/program" \
		>"$REPORT" 2>"$ERRORS" </dev/null
	expect "$?" 0 "exit status of run with $1: $(cat "$ERRORS")"
	json_valid
	expect "$(json '[.sites[] | select([.frames[].function] | index("main")) |
		.alloc_count] | add')" 2000 "allocated by main ($1)"
	victim loop selfcheck --kind=malloc-loop --threads=2
	pristine_take "$VICTIM"
	LD_PRELOAD=$1 timeout 60 "$MEMATTACH" -p "$VICTIM" -d 1 --leaks --json \
		>"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
	[ "$STATUS" -le 1 ] || fail "-p with $1: status $STATUS: $(cat "$ERRORS")"
	json_valid
	json_expect .session.detached pristine
	[ "$(json .totals.alloc_count)" -gt 0 ] || fail "nothing was seen with $1"
	pristine_check "$VICTIM"
	finished loop
}

cat >"$WORK/program.c" <<'END'
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 2000; i++)
		free(malloc(100));
	return 0;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c" || fail "compiling"
tried=0
for library in libtcmalloc.so.4 libtcmalloc_minimal.so.4 libjemalloc.so.2 libmimalloc.so.2; do
	[ -z "$(LD_PRELOAD=$library "$WORK/program" 2>&1)" ] || continue
	preloaded "$library"
	tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || skip "no allocator that can be preloaded is installed"
