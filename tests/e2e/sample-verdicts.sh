#!/bin/sh
# SPDX-License-Identifier: MIT
# A leak of 100 blocks of 64 bytes a second beside heavy churn: seen as growing, or said to rest on
# too few samples; not steady, nor freed.
. "$(dirname "$0")/lib.sh"
needs jq
victim leak slow_leak
attach_begin -p "$VICTIM" --json -d 6
attach_await "$VICTIM"
attach_wait
expect "$STATUS" 0 "exit status"
schema_valid snapshot
json_expect .session.mode adaptive
json_expect '.session.sample_interval_bytes > 100000' true
jq -c '.sites[] | select(any(.frames[]; .function == "leak_slowly")) |
	[.verdict, .samples, .live_bytes_low, .live_bytes, .live_bytes_high]' "$REPORT"
json_expect '[.sites[] | select(any(.frames[]; .function == "leak_slowly")) | .verdict] |
	all(. == "growing" or . == "too-few-samples")' true
# and for people
attach_begin -p "$VICTIM" -d 4
attach_await "$VICTIM"
attach_wait
expect "$STATUS" 0 "exit status"
grep -A 3 '; too few samples\|; growing' "$REPORT" | head -20
grep -q 'allocated .*; 95 %: .* to .* blocks' "$REPORT" || fail "allocated has no interval"
grep -q '; steady$' "$REPORT" && grep -A 4 '; steady$' "$REPORT" | grep leak_slowly &&
	fail "it is called steady"
ended leak
