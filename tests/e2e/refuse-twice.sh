#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that memattach watches already: the second is refused, the first goes on.
. "$(dirname "$0")/lib.sh"
needs jq
victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json
attach_await "$VICTIM"
timeout 30 "$MEMATTACH" -p "$VICTIM" -d 1 >"$WORK/second" 2>"$WORK/second.err"
expect "$?" 3 "exit status of the second"
expect "$(wc -l <"$WORK/second.err" | tr -d ' ')" 1 "lines on the second's standard error"
grep -qiE "already|$ATTACH|memattach" "$WORK/second.err" || fail "$(cat "$WORK/second.err")"
attach_await "$VICTIM"
truth truth
attach_end INT
expect "$STATUS" 0 "exit status of the first"
json_expect .session.detached pristine
json_expect .totals.alloc_count "$(jq .totals.alloc_count "$WORK/truth.truth")"
pristine_check "$VICTIM"
ended truth
