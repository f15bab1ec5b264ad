# SPDX-License-Identifier: MIT
# Runs that are longer than those of `make check`, one after the other, and a file in which the
# results of all of them add up. Sourced, with SRCDIR and results, the file, set.
# shellcheck shell=sh disable=SC2154
failed=0
log=$(mktemp "${TMPDIR:-/tmp}/memattach-results.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT

# keep RESULT LABEL LAST-LINE
keep() {
	printf '%s\t%s\t%s\t%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" "$2" "$3" >>"$results"
}

# Why the test of $log failed: the last lines are what was found of its processes.
why_not() {
	grep -m 1 '^FAIL:' "$log" | cut -c 1-300 | grep . || tail -n 1 "$log"
}

# one LABEL SCRIPT: runs a test of tests/e2e, says how it ended, and all it said if it failed.
one() {
	one_program "$1" /bin/sh "$SRCDIR/tests/e2e/$2"
}

# one_program LABEL COMMAND...: the same of any.
one_program() {
	one_label=$1
	shift
	began=$(date +%s)
	"$@" >"$log" 2>&1
	one_status=$?
	took=$(($(date +%s) - began))
	case $one_status in
	0)	keep PASS "$one_label" "$(tail -n 1 "$log")"
		echo "PASS $one_label (${took} s): $(tail -n 1 "$log")" ;;
	77)	echo "SKIP $one_label: $(tail -n 1 "$log")" ;;
	*)	keep FAIL "$one_label" "$(why_not)"
		echo "FAIL $one_label (${took} s)"
		cat "$log"
		failed=$((failed + 1)) ;;
	esac
}

# What the results of all runs add up to; the status is whether none of these failed.
results_end() {
	[ ! -f "$results" ] || awk -F '\t' '
		{ n[$3 " " $2]++ }
		END { for (k in n) print n[k], k }' "$results" | sort -k 2
	echo "$failed failed"
	[ "$failed" -eq 0 ]
}
