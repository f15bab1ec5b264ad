#!/bin/sh
# SPDX-License-Identifier: MIT
# --overhead: the interval moves, more widely for a smaller budget, the report says where it was and
# what was paid, recordings too; a target that waits meets the same interval when it goes on.
# How much is paid in the end depends on the machine: tests/unit/test_budget.c has that.
. "$(dirname "$0")/lib.sh"
needs jq

victim load load --threads=2 --work=20000
tell load r
pristine_take "$VICTIM"

# watched PCT: the report of some seconds with that budget; sets INTERVAL, PAID.
watched() {
	attach -p "$VICTIM" -d 2 --interval=0.1 --overhead="$1" --json -o "$WORK/rec.$1"
	report_good 50
	json_expect .session.mode adaptive
	INTERVAL=$(json '[.timeline[].sample_interval_bytes] | .[length / 2 | floor:] |
		add / length | floor')
	PAID=$(json .session.overhead_percent)
	note "budget $1 %: paid $PAID %, interval $INTERVAL"
	json_expect '.session.overhead_percent > 0' true
	json_expect '.session.sample_interval_bytes == .timeline[-1].sample_interval_bytes' true
	checked load
}
more() { awk "BEGIN { exit !($1 > $2) }"; }

watched 0.2
narrow=$INTERVAL least=$PAID
watched 20
more "$narrow" "$((4 * INTERVAL))" ||
	fail "a budget a hundredth as large has the interval $narrow, the large one $INTERVAL"
more "$PAID" "$least" || fail "the larger budget paid $PAID %, the smaller one $least %"

"$MEMATTACH" report "$WORK/rec.20" --json >"$WORK/again" || fail "the recording can't be read"
for what in .timeline .session.overhead_percent; do
	expect "$(jq -c "$what" "$WORK/again")" "$(json "$what | tojson")" "$what, recorded"
done
"$MEMATTACH" report "$WORK/rec.0.2" >"$WORK/text" || fail "the recording can't be read"
grep -q '^  interval  .*to keep to the budget$' "$WORK/text" ||
	fail "the text does not say the interval: $(head -n 20 "$WORK/text")"
grep -q "^  cost .*% of the target's time" "$WORK/text" ||
	fail "the text does not say the cost"

# Bursts: running, waiting, running.
attach_begin -p "$VICTIM" --interval=0.1 --json
attach_await "$VICTIM"
checked load
tell load i
answer load check
tell load r
checked load
attach_end INT
report_good 50
pristine_check "$VICTIM"

# The other modes measure it, too, and keep their interval.
attach -p "$VICTIM" -d 1 --sample=65536 --json
json_expect '.session.overhead_percent > 0' true
json_expect '[.timeline[].sample_interval_bytes] | unique | .[]' 65536
attach -p "$VICTIM" -d 1 --exact --json
json_expect '.session.overhead_percent > 0' true
json_expect '[.timeline[].sample_interval_bytes] | unique | .[]' 0
pristine_check "$VICTIM"
finished load
