#!/bin/sh
# SPDX-License-Identifier: MIT
# FILE@MOMENT and diff: what a recording knew at a moment equals what it says of that snapshot; two
# moments of one, and two recordings of one program, are compared site by site.
. "$(dirname "$0")/lib.sh"
needs jq sqlite3
victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json --interval=0.05 -o "$WORK/recording"
attach_await "$VICTIM"
rows() { sqlite3 "$WORK/recording" "$1" 2>/dev/null; }
grown() { [ "$(rows 'SELECT count(*) FROM snapshots')" -gt "$1" ]; }
await 30 grown 10 || fail "no snapshots"
truth truth
await 30 grown 40 || fail "no more snapshots"
attach_end INT
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
ended truth

# Each snapshot whose sites are known, by its time.
for id in $(rows "SELECT DISTINCT snapshot FROM snapshot_sites ORDER BY snapshot"); do
	time=$(rows "SELECT printf('%.9f', time + 1e-9) FROM snapshots WHERE id = $id")
	attach report --json "$WORK/recording@${time}s"
	expect "$STATUS" 0 "exit status of report @${time}s"
	live=$(rows "SELECT live_bytes FROM snapshots WHERE id = $id")
	expect "$(json .totals.live_bytes)" "$live" "live bytes at $time s"
	expect "$(json '[.sites[] | select(.kind != "mmap") | .live_bytes] | add // 0')" \
		"$(json .totals.live_bytes)" "the sum of the sites at $time s"
	expect "$(json '[.sites[] | select(.kind != "mmap") | .alloc_count] | add // 0')" \
		"$(json .totals.alloc_count)" "the allocations of the sites at $time s"
done
schema_valid snapshot
attach report --json "$WORK/recording@end"
cp "$REPORT" "$WORK/end.json"
attach report --json "$WORK/recording"
cmp -s "$REPORT" "$WORK/end.json" || fail "@end is not the end"
attach report --json "$WORK/recording@peak"
expect "$(json .totals.live_bytes)" "$(rows 'SELECT max(live_bytes) FROM snapshots')" "the peak"
attach report "$WORK/recording@50%"
grep -q 'a moment of .* that were recorded' "$REPORT" || fail "does not say that it is a moment"

# Compared: what the sites gained is what the totals gained.
attach diff "$WORK/recording@0s" "$WORK/recording@end" --json
expect "$STATUS" 0 "exit status of diff"
schema_valid diff
expect "$(json '[.sites[] | select(.kind != "mmap") | .growth] | add')" \
	"$(json .totals.live.growth)" "growth of the sites"
expect "$(json '[.sites[].growth] | . == (sort | reverse)')" true "the order"
attach diff "$WORK/recording@end" "$WORK/recording@end" --json
expect "$(json '.sites | length')" 0 "changes between a moment and itself"
# A document of the same snapshot has the same sites; one of them is a recording.
attach diff "$WORK/recording" "$WORK/end.json" --json
expect "$STATUS" 0 "exit status of diff with a document"
expect "$(json '.sites | length')" 0 "changes between a recording and its document"
attach diff "$WORK/recording@0s" "$WORK/recording@end"
grep -q 'Sites that are new' "$REPORT" || fail "the text does not list sites: $(cat "$REPORT")"

# Said in one line, with what to do.
attach report "$WORK/recording@10h"
expect "$STATUS" 2 "exit status of a moment after the end"
said_one_line 'after the recording.s end'
attach report "$WORK/recording@noon"
said_one_line 'names no moment'
attach diff "$WORK/recording@noon" "$WORK/recording"
said_one_line 'names no moment'
attach report "$WORK/recording@0s" leaks
said_one_line 'leave out the moment'
attach report "$WORK/none@3s"
said_one_line 'No such file'
