#!/bin/sh
# SPDX-License-Identifier: MIT
# A compiler at work: one thread, never blocked, large stacks; its output is not changed.
. "$(dirname "$0")/lib.sh"
needs jq python3
# A source that takes some seconds: many functions.
i=0
while [ $i -lt 400 ]; do
	echo "int f$i(int *a, int n) { int s = 0; while (n--) s += a[n] * $i; return s; }"
	i=$((i + 1))
done >"$WORK/large.c"
# shellcheck disable=SC2086
$CC -O2 -S -o "$WORK/alone.s" "$WORK/large.c" || skip "the compiler does not work"
compiler=$(command -v "${CC%% *}")
# The driver starts the compiler proper, where they are two programs.
background driver "$compiler" -O2 -S -o "$WORK/watched.s" "$WORK/large.c"
driver=$LAST
sub_compiler() { VICTIM=$(cat "/proc/$driver/task/$driver/children"); [ -n "$VICTIM" ]; }
if await 2 sub_compiler; then VICTIM=${VICTIM%% *}; else VICTIM=$driver; fi
attach -p "$VICTIM" -d 1 --sample=65536 --json
case $STATUS in
0)	report_good ;;
4)	note "the compiler was faster than we" ;;
*)	fail "exit status $STATUS" ;;
esac
await 90 is_gone "$driver" || fail "the compiler does not end"
wait "$driver" || fail "the compiler failed: $(cat "$WORK/driver.err")"
cmp "$WORK/alone.s" "$WORK/watched.s" || fail "the compiler's output is another"
