#!/bin/sh
# SPDX-License-Identifier: MIT
# An idle program, then one burst: each interval encloses the truth, although samples are few and
# records are lost, and nothing is beyond what the process holds. RUNS times each burst.
. "$(dirname "$0")/lib.sh"
needs jq
: "${RUNS:=$(in_full 3 1)}"
covered=0 figures=0

# enclosed KEY TRUTH: counts; an interval of no length is the truth.
enclosed() {
	figures=$((figures + 1))
	if jq -en "input | .totals | .$1_low <= $2 and $2 <= .$1_high" "$REPORT" >/dev/null; then
		covered=$((covered + 1))
	else
		note "$1: $2 is not in $(jq -c ".totals | [.$1_low, .$1_high]" "$REPORT"), lost" \
			"$(jq -c .session.lost "$REPORT")"
	fi
	jq -en "input | .totals | .$1_low <= .$1 and .$1 <= .$1_high and
		(.$1_low < .$1_high or .$1 == $2)" "$REPORT" >/dev/null ||
		fail "$1 is said to be exact, and is not $2: $(jq -c .totals "$REPORT")"
}

# in_all KEY TRUTH: of all intervals of the timeline together; low = high is the truth there, too.
in_all() {
	figures=$((figures + 1))
	ends=$(jq -c "[.timeline | map(.$1_low), map(.$1_high) | add]" "$REPORT")
	if jq -en "$ends | .[0] <= $2 and $2 <= .[1]" >/dev/null; then
		covered=$((covered + 1))
	else
		note "timeline, $1: $2 is not in $ends"
	fi
	jq -en "$ends | .[0] < .[1] or .[0] == $2" >/dev/null ||
		fail "the timeline's $1 is said to be exact, and is not $2: $ends"
}

for burst in 1 2 3 4 6 l n; do
	run=0
	while [ "$run" -lt "$RUNS" ]; do
		run=$((run + 1))
		victim bursts bursts
		attach_begin -p "$VICTIM" --json
		attach_await "$VICTIM"
		tell bursts "$burst"
		answer bursts burst
		truth=${ANSWER#burst ok }
		attach_end INT
		expect "$STATUS" 0 "exit status"
		schema_valid snapshot
		json_expect .session.mode adaptive
		allocated=${truth% *} kept=${truth#* }
		enclosed alloc_count "$allocated"
		enclosed alloc_bytes $((allocated * 200))
		enclosed free_count $((allocated - kept))
		enclosed live_count "$kept"
		enclosed live_bytes $((kept * 200))
		in_all alloc_count "$allocated"
		in_all alloc_bytes $((allocated * 200))
		in_all free_count $((allocated - kept))
		json_expect '.timeline | all(.alloc_count_low <= .alloc_count and
			.alloc_count <= .alloc_count_high and
			.alloc_bytes_low <= .alloc_bytes and .alloc_bytes <= .alloc_bytes_high and
			.free_count_low <= .free_count and .free_count <= .free_count_high and
			.live_bytes_low <= .live_bytes and .live_bytes <= .live_bytes_high)' true
		json_expect '(.totals.alloc_count == 0) ==
			(.timeline | all(.alloc_count == 0))' true
		json_expect '.target.vsz_bytes as $all | [.totals, .sites[]] |
			all(.live_bytes_high < $all and .peak_live_bytes_high < $all)' true
		json_expect '.totals | .overhead_bytes_low == null or
			(.overhead_bytes_low <= .overhead_bytes and
			 .overhead_bytes <= .overhead_bytes_high)' true
		json_expect '[.totals, .sites[]] | all(.live_bytes <= .peak_live_bytes and
			.live_bytes_low <= .peak_live_bytes_high)' true
		json_expect '.session.lost | .hidden_count >= .alloc and
			.hidden_bytes >= .alloc_bytes' true
		ended bursts
	done
done
note "$covered of $figures intervals enclose the truth"
# 95 %, but for 3 standard errors of so few runs
[ $((covered * 100)) -ge $((figures * $(in_full 88 84))) ] || fail "too few"
