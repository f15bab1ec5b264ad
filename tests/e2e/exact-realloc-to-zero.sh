#!/bin/sh
# SPDX-License-Identifier: MIT
# Blocks freed by realloc to 0 bytes, at thousands of stacks that were never seen before: each is a
# new site that the books make in the middle of the next allocation's event.
. "$(dirname "$0")/lib.sh"
needs jq

STACKS=3000
for mode in --exact --sample=1; do
	note "$mode"
	victim stacks many_stacks --stacks=$STACKS
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" "$mode" --on-overflow=block --json
	attach_await "$VICTIM"
	tell stacks z
	await 90 grep -q '^truth .*}$' "$WORK/stacks.out" ||
		fail "no truth: $(cat "$WORK/stacks.err")"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_valid
	json_expect .totals.alloc_count $STACKS
	json_expect .totals.free_count $STACKS
	json_expect .totals.live_count 0
	json_expect .totals.temporary_count $STACKS
	pristine_check "$VICTIM"
	ended stacks
done
