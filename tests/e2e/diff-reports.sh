#!/bin/sh
# SPDX-License-Identifier: MIT
# diff: what two documents differ in, the exit status that tests rely on, files that are none.
. "$(dirname "$0")/lib.sh"
needs jq

# report BEGIN SITE LINE LIVE LOST: a document of one leaking process, LOST bytes at a.c:LINE.
report() {
	cat <<-END
	{"schema":"memattach-snapshot-1",
	 "target":{"pid":77,"exe":"/usr/bin/demo","start_time":1000},
	 "session":{"begin_time":$1,"duration":10}, "totals":{"live_count":1,"live_bytes":$4},
	 "sites":[{"id":$2,"kind":"malloc","live_count":1,"live_bytes":$4,"live_bytes_low":$4,
	   "live_bytes_high":$4,"frames":[{"function":"lose","file":"a.c","line":$3,"column":1,
	   "module":"/usr/bin/demo","offset":64,"inlined":false}]}],
	 "leaks":{"covers_older_blocks":true,"definitely_lost":{"count":1,"bytes":$5},
	   "indirectly_lost":{"count":0,"bytes":0},"possibly_lost":{"count":0,"bytes":0},
	   "still_reachable":{"count":0,"bytes":0},
	   "groups":[{"verdict":"definitely-lost","count":1,"bytes":$5,"indirect_count":0,
	     "indirect_bytes":0,"size":$5,"type":"struct session","variable":"s","held_by":null,
	     "addresses":["0x5000"],"site":$2}]}}
	END
}

# said STATUS ARGUMENTS...: calls diff; output in $REPORT.
said() {
	wanted=$1
	shift
	attach diff "$@"
	expect "$STATUS" "$wanted" "exit status of diff $* ($(cat "$ERRORS"))"
}

valid() { schema_valid diff; }

old=$WORK/old.json new=$WORK/new.json
report 1000 1 10 4096 1024 >"$old"
report 4600 2 10 8192 3072 >"$new"	# an hour later

said 1 "$old" "$new"
grep -q 'Leaks that grew: 1 of 1' "$REPORT" || fail "the leak did not grow: $(cat "$REPORT")"
grep -q '^+2.00 KiB (+2.00 KiB/h)  definitely lost: 1.00 KiB .* -> 3.00 KiB' "$REPORT" ||
	fail "not the growth: $(cat "$REPORT")"
grep -q 'lose .*a.c:10' "$REPORT" || fail "not the stack"

said 1 "$old" --json "$new" --top 1
valid
expect "$(json '.leaks[0].change')" grew "change"
expect "$(json '.leaks[0].growth_per_hour')" 2048 "growth per hour"
expect "$(json '.sites[0].growth')" 4096 "growth of the site"
expect "$(json .definitely_lost_grew)" true "lost memory"

said 0 "$old" "$old" --json
valid
expect "$(json '.leaks + .sites | length')" 0 "changes between a file and itself"
said 0 "$new" "$old"
grep -q 'Leaks that shrank' "$REPORT" || fail "nothing shrank"

# A line that moved is another leak.
report 4600 2 11 4096 1024 >"$new"
said 1 "$old" "$new" --json
expect "$(json '[.leaks[].change] | join(" ")')" "new gone" "changes"

# Without a search of memory: the sites only. A pipe will do.
jq -c '.leaks = null' "$old" >"$new"
jq '.sites[0].live_bytes_low = 9000 | .sites[0].live_bytes = 9000 |
	.sites[0].live_bytes_high = 9000 | .leaks = null' "$old" |
	"$MEMATTACH" diff "$new" /dev/stdin --json >"$REPORT" || fail "status $?"
valid
expect "$(json .leaks)" null "leaks"
expect "$(json '.sites[0].change')" grew "the site"
said 0 "$old" "$new"
grep -q 'only one of them' "$REPORT" || fail "does not say that leaks are not compared"

# In the words of reports: too few samples, and what lies within the intervals.
jq '.sites[0] |= (.live_bytes = 9000 | .live_bytes_low = 8000 | .live_bytes_high = 10000 |
	.verdict = "too-few-samples")' "$old" >"$new"
said 0 "$old" "$new"
grep -q ' -> 8.79 KiB in 1 block; too few samples$' "$REPORT" || fail "not marked: $(cat "$REPORT")"
jq '.sites[0].live_bytes_low = 4000' "$new" >"$WORK/wide"
said 0 "$old" "$WORK/wide" --json
valid
expect "$(json '.sites | length')" 0 "sites within their intervals, listed"
expect "$(json .sites_within_intervals)" 1 "sites within their intervals"
said 0 "$old" "$WORK/wide"
grep -q '^Within the 95 % intervals, so not listed: 1 site that differs (' "$REPORT" ||
	fail "does not say that the site may have changed: $(cat "$REPORT")"

# What memattach itself prints.
"$MEMATTACH" run $EXACT --json -o "$WORK/recording" -- sh -c 'exit 0' >"$new" 2>"$ERRORS" \
	</dev/null || fail "no document: $(cat "$ERRORS")"
said 0 "$new" "$new" --json
valid
expect "$(json '.old.time != null')" true "the time of a document"
expect "$(json .same_process)" true "the process"

# Usage, and files that are no documents: one line that names the file and the byte.
said 2 "$old"
said_one_line 'usage'
said 2 "$old" "$new" "$new"
said_one_line 'usage'
said 2 "$old" /nonexistent
said_one_line '/nonexistent: No such file'
head -c 600 "$old" >"$WORK/half"
said 2 "$WORK/half" "$old"
said_one_line 'half: byte 600: '
# A recording is as good as its document.
said 0 "$new" "$WORK/recording" --json
valid
expect "$(json '.sites | length')" 0 "changes between a document and its recording"
head -c 3000 "$WORK/recording" >"$WORK/half"
said 2 "$old" "$WORK/half"
said_one_line 'half is not a recording, or is damaged'
