#!/bin/sh
# SPDX-License-Identifier: MIT
# export FILE@MOMENT in every format: what its reader says are the figures of report FILE@MOMENT,
# and nothing of what came later is in it. pprof -diff_base of two moments is how they differ.
. "$(dirname "$0")/lib.sh"
needs jq python3 sqlite3
. "$E2E/exports.sh"
rows() { sqlite3 "$WORK/recording" "$1"; }

target_recorded 1.5

# Formats without a reader of their own here, or with one that prints figures.
text_formats() {
	exported json
	cmp -s "$WORK/json" "$REPORT" || fail "json is not the report's document"
	for format in folded csv speedscope; do
		exported "$format"
		same "$format" "$format"
	done
	exported html
	python3 "$E2E/check_html.py" "$REPORT" "$WORK/html" || fail "the page"
	exported svg
	exported svg-timeline
	! command -v xmllint >/dev/null || xmllint --noout "$WORK/svg" "$WORK/svg-timeline" ||
		fail "the pictures are not XML"
	exported gperftools
	expect "$(sed -n '1s/ @.*//p' "$WORK/gperftools" | tr -d ' ')" "heapprofile:$(
		json '[.sites[] | select(.kind != "mmap")] | "\(map(.live_count) | add):\(
			map(.live_bytes) | add)[\(map(.alloc_count) | add):\(
			map(.alloc_bytes) | add)]"')" "gperftools' sums"
}

readers() {
	exported massif
	if has ms_print; then
		ms_print --threshold=0 "$WORK/massif" >"$WORK/massif.out" || fail "ms_print"
		same massif massif.out
	fi
	exported callgrind
	if has callgrind_annotate; then
		callgrind_annotate --threshold=100 --auto=no "$WORK/callgrind" \
			>"$WORK/callgrind.out" || fail "callgrind_annotate"
		same callgrind callgrind.out
	fi
	exported heaptrack
	if has heaptrack_print; then
		heaptrack_print "$WORK/heaptrack" >"$WORK/heap.out" 2>"$ERRORS" ||
			fail "heaptrack_print"
		same heaptrack heap.out busy
	fi
	case $("$MEMATTACH" --version) in *protobuf-c*) ;; *) return ;; esac
	exported pprof pprof.gz
	pprof_built || return 0
	top live_bytes "$WORK/pprof.gz"
	[ -e "$WORK/before.gz" ] || return 0
	top '' -sample_index=alloc_space -diff_base="$WORK/before.gz" "$WORK/pprof.gz"
	same top_diff pprof.out "$WORK/before.json"
}

# The last moment that the page and Massif's snapshots have is the one that was asked for.
ends_there() {
	page_end=$(sed -n '/id="sites"/{n;p;}' "$WORK/html" | jq '.moments.time[-1] // 0')
	expect "$page_end" "$(json .session.duration)" "the page's last moment"
	last=$(sed -n 's/^time=//p' "$WORK/massif" | tail -n 1)
	expect "$last" "$(json '.session.duration * 1000 | floor')" "Massif's last snapshot"
}

# Those of which all is known, but for the last: that is no moment but the end.
rows "SELECT DISTINCT snapshot FROM snapshot_sites JOIN snapshots ON id = snapshot
	WHERE snapshots.live_bytes > 0 AND id < (SELECT max(id) FROM snapshots)
	ORDER BY id" >"$WORK/moments"
[ "$(wc -l <"$WORK/moments")" -ge 2 ] || fail "too few moments"
before=0
for id in $(sed -n '1p;$p' "$WORK/moments"); do
	RECORDING=$WORK/recording@$(rows "SELECT printf('%.9f', time + 1e-9) FROM snapshots
		WHERE id = $id")s
	attach report --json "$RECORDING"
	expect "$STATUS" 0 "exit status of report"
	json_expect '.session.recorded_seconds > .session.duration' true
	[ "$(json .totals.alloc_count)" -gt "$before" ] || fail "not later than before"
	before=$(json .totals.alloc_count)
	text_formats
	readers
	ends_there
	[ ! -e "$WORK/pprof.gz" ] || mv "$WORK/pprof.gz" "$WORK/before.gz"
	mv "$WORK/json" "$WORK/before.json"
done

# Before the first snapshot there is nothing, and that can be said in every format.
RECORDING=$WORK/recording@0s
attach report --json "$RECORDING"
json_expect .totals.live_bytes 0
exported json
cmp -s "$WORK/json" "$REPORT" || fail "json of the beginning"
for format in folded csv speedscope svg svg-timeline html massif callgrind heaptrack gperftools; do
	exported "$format"
done
[ ! -s "$WORK/folded" ] || fail "folded stacks before anything happened"

attach export "$WORK/recording@50%" --to=folded --by=peak
expect "$STATUS" 2 "exit status of what the moment does not know"
said_one_line 'leave out the moment'
attach export "$WORK/recording@10h" --to=folded
expect "$STATUS" 2 "exit status of a moment after the end"
said_one_line 'after the recording.s end'
attach export "$WORK/recording@noon" --to=folded
said_one_line 'names no moment'
for view in peak lifetimes blocks histogram; do
	attach report "$WORK/recording@50%" "$view"
	expect "$STATUS" 2 "exit status of the view $view of a moment"
	said_one_line 'leave out the moment'
done
attach report "$WORK/recording" --to=pprof
expect "$STATUS" 2 "exit status of --to for a report"
said_one_line 'that is for export'
attach export "$WORK/recording" --to=folded --search=/
expect "$STATUS" 2 "exit status of --search for an export"
said_one_line 'that is for symbolize'
say_left_out
