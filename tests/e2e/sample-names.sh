#!/bin/sh
# SPDX-License-Identifier: MIT
# Samples whose stacks go by name (--stacks=recognise) are the very samples, with the very stacks,
# that they are with copies; with copies of all of them to compare, none is different. An interval
# that there is no room for beside a name leaves copies, and nothing else changes.
. "$(dirname "$0")/lib.sh"
needs jq

# sampled NAME OPTIONS...: what the sites and totals of a seeded session are.
sampled() {
	name=$1
	shift
	victim truth truth_sites 96 7
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --seed=7 --on-overflow=block --json --top 1000 "$@"
	attach_await "$VICTIM"
	truth truth
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	json_expect '.session.lost | add' 0
	pristine_check "$VICTIM"
	ended truth
	note "$name: $(json '.session | "\(.samples) samples, \(.stacks)"')"
	jq '[.totals, (.sites | map(walk(if type == "object" then
		with_entries(select(.key | test("time|second|address") | not)) else . end)) |
		sort_by(tostring))]' "$REPORT" >"$WORK/$name.sites"
}

sampled copied --sample=4096
json_expect .session.stacks.recognised 0
sampled copied_too --sample=4096 --stacks=copy
sampled named --sample=4096 --stacks=recognise
json_expect '.session.stacks.recognised > 20 * .session.stacks.unwound' true
sampled compared --sample=4096 --stacks=recognise --verify-stacks=1
json_expect .session.stacks.mismatched 0
json_expect '.session.stacks.audited > 100' true
for name in copied_too named compared; do
	cmp "$WORK/copied.sites" "$WORK/$name.sites" || fail "$name: $(diff \
		"$WORK/copied.sites" "$WORK/$name.sites" | head -40)"
done

sampled odd_copied --sample=4099
sampled odd --sample=4099 --stacks=recognise
json_expect '.session.stacks.unwound == .session.samples' true
cmp "$WORK/odd_copied.sites" "$WORK/odd.sites" || fail "with an interval of 4,099 bytes"
