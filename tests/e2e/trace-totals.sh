#!/bin/sh
# SPDX-License-Identifier: MIT
# The totals of a log of calls are those of --exact --json on the same work, in text too; a program
# is logged from its first call on.
. "$(dirname "$0")/lib.sh"
needs jq python3

# worked NAME ARGUMENTS: truth_c does its work, which never differs, under memattach ARGUMENTS.
worked() {
	worked_name=$1
	shift
	victim "$worked_name" truth_c
	pristine_take "$VICTIM"
	attach_begin "$@" -p "$VICTIM"
	attach_await "$VICTIM"
	truth "$worked_name"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	pristine_check "$VICTIM"
	ended "$worked_name"
	cp "$REPORT" "$WORK/$worked_name.report"
}

worked exact $EXACT --json
worked json trace --json
worked text trace

of_exact() { jq -r ".totals | $1" "$WORK/exact.report"; }
of_trace() { jq -r "select(.event == \"totals\") | $1" "$WORK/json.report"; }
of_text() { sed -n "s/^# $1 *\([0-9,.]*\) .*/\1/p" "$WORK/text.report" | tr -d ,; }

for figure in allocated_total:alloc_bytes allocated_count:alloc_count freed_total:free_bytes \
	freed_count:free_count unfreed_total:live_bytes unfreed_count:live_count \
	freed_older_count:free_unknown_count; do
	expect "$(of_trace ".${figure%%:*}")" "$(of_exact ".${figure##*:}")" "$figure"
done
expect "$(of_trace '.allocated_avg * .allocated_count | round')" "$(of_exact .alloc_bytes)" average
for figure in allocated_total:alloc_bytes freed_total:free_bytes unfreed:live_bytes; do
	expect "$(of_text "${figure%%:*}")" "$(of_exact ".${figure##*:}")" "$figure as text"
done

# The text's lines are the same calls, in the same order.
grep -v '^#' "$WORK/text.report" | sed -n 's/^ *[0-9.]* *[0-9]*  \([a-z_]*\)(.*) .*/\1/p' \
	>"$WORK/text.calls"
jq -r 'select(.event == "call") | .call' "$WORK/json.report" >"$WORK/json.calls"
cmp "$WORK/text.calls" "$WORK/json.calls" || fail "text and JSON show different calls"
grep -q 'posix_memalign(0x[0-9a-f]*, 24, 700) = 22 EINVAL  *700 ' "$WORK/text.report" ||
	fail "no failed posix_memalign"
grep -qE 'free\(NULL\) .* case_malloc_fails\+0x[0-9a-f]+  .*truth_c\.c:[0-9]+$' \
	"$WORK/text.report" || fail "no free(NULL)"

attach trace --json -o "$WORK/run.log" -- "$VICTIMS/truth_c"
expect "$STATUS" 0 "exit status of a command"
grep -q '^ready' "$REPORT" || fail "the command's own output is missing"
cp "$WORK/run.log" "$REPORT"
[ "$(jq -s 'map(select(.event == "call" and .call == "malloc" and .arguments == [123] and
	.frames[0].function == "main")) | length' "$REPORT")" = 1 ] ||
	fail "the first calls of a program are missing"
