# SPDX-License-Identifier: MIT
# What the tests of several processes share. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2016,SC2034,SC2153,SC2154

several_valid() {
	if python3 -c 'import jsonschema' 2>/dev/null; then
		python3 "$E2E/check_schema.py" "$SRCDIR/docs/several.schema.json" "$REPORT" ||
			fail "the report is not valid"
	else
		note "python3-jsonschema is not installed: schema not checked"
		jq -e . "$REPORT" >/dev/null || fail "the report is not JSON"
	fi
}

# sums_hold: totals and sites are the sums of what the processes have, in every figure.
sums_hold() {
	json_expect '. as $r | [.sites[] | . as $s | ["live_bytes", "live_count", "alloc_bytes",
		"alloc_count", "free_count"][] | . as $key |
		select($s[$key] != ([$s.by_process[][$key]] | add))] | length' 0
	json_expect '[.processes[] | select(.watched)] as $p | .totals as $t |
		["live_bytes", "live_count", "alloc_bytes", "alloc_count", "free_count",
			"free_bytes"] |
		map(. as $key | select($t[$key] != ([$p[].totals[$key]] | add))) | length' 0
	# estimates are rounded, each of them
	json_expect '. as $r | [range(.processes | length) as $i | .processes[$i] |
		select(.watched) |
		.totals.live_bytes - ([$r.sites[] | select(.kind == "malloc") | .by_process[] |
			select(.process == $i) | .live_bytes] | add // 0) | fabs |
		select(. > (if $r.exact then 0 else ($r.sites | length) end))] | length' 0
}

# of_process PID EXPRESSION: of that process's entry; of its last session.
of_process() { json "[.processes[] | select(.pid == $1)] | last | $2"; }

# at_site PID FUNCTION KEY: what PID has at the sites in which FUNCTION allocates, all sessions.
at_site() {
	json "[.processes[].pid] as \$pid | [.sites[] |
		select([.frames[] | .function] | index(\"$2\")) |
		.by_process[] | select(\$pid[.process] == $1) | .$3] | add // 0"
}

