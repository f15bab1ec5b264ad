#!/bin/sh
# SPDX-License-Identifier: MIT
# What became of reallocs, by site: the view equals the books of a victim that makes them in every
# way: grown, shrunk, moved, of NULL, to 0, too large. Also of every allocation without --exact. In
# sampled sessions estimates are right on average, and what can't be known of sizes is not claimed.
. "$(dirname "$0")/lib.sh"
needs jq python3

# compared [--exact]: the victim's reallocs in a session of that kind.
compared() {
	victim handover handover
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" "$@" -o "$WORK/recording" --view=realloc --json
	attach_await "$VICTIM"
	tell handover r
	answer handover 'done'
	attach_end INT
	expect "$STATUS" 0 "exit status"
	pristine_check "$VICTIM"
	cp "$REPORT" "$WORK/session"
	grep '^resized ' "$WORK/handover.out" >"$WORK/truth"
	python3 "$E2E/check_reallocs.py" "$WORK/truth" "$WORK/session" ||
		fail "the truth is another"
	schema_valid views "$WORK/session"
	attach report "$WORK/recording" realloc --json
	cmp "$WORK/session" "$REPORT" || fail "report realloc differs from --view=realloc"
	ended handover
}

# sampled RUN: the view of many reallocs goes to $WORK/sampled.RUN.
sampled() {
	victim resizes resizes
	attach_begin -p "$VICTIM" --sample=4096 --seed="$1" --on-overflow=block \
		-o "$WORK/recording" --view=realloc --json
	attach_await "$VICTIM"
	tell resizes g
	answer resizes 'done'
	attach_end INT
	expect "$STATUS" 0 "exit status"
	grep '^resized ' "$WORK/resizes.out" >"$WORK/truth"
	cp "$REPORT" "$WORK/sampled.$1"
	attach report "$WORK/recording" realloc --json
	cmp "$WORK/sampled.$1" "$REPORT" || fail "report realloc differs from --view=realloc"
	ended resizes
}

compared $EXACT
attach report "$WORK/recording" --json
json_expect .totals.double_free_count 0
json_expect .totals.illegal_free_count 0
json_expect .totals.free_unknown_count 0
compared
attach report "$WORK/recording@0%" realloc
expect "$STATUS" 2 "exit status for a moment"
said_one_line 'leave out the moment'
attach report "$WORK/recording@0%" hotspots --thread=1
expect "$STATUS" 2 "exit status of a thread at a moment"
said_one_line 'leave out the moment'

for run in 1 2 3 4; do
	sampled "$run"
done
python3 "$E2E/check_reallocs.py" --sampled "$WORK/truth" "$WORK"/sampled.[1-4] ||
	fail "estimates of reallocs"
schema_valid views "$WORK/sampled.1"
