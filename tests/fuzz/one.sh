#!/bin/sh
# SPDX-License-Identifier: MIT
# One fuzzer's turn, for run.sh, which has built it, in the folder of that build: fuzz/one.sh NAME
# Exit status 1: it found something. What it learned, printed and has done stays (run.sh).
set -u
name=$1
corpora=$BUILDDIR/fuzz-corpus
log=$name.log
result=good
set -- "$corpora/$name" "seeds/$name"
[ ! -f "$SRCDIR/tests/fuzz/$name.dict" ] || set -- "$@" "-dict=$SRCDIR/tests/fuzz/$name.dict"
timeout --foreground $((FUZZ_SECONDS + 120)) "tests/fuzz/fuzz_$name" \
	-max_total_time="$FUZZ_SECONDS" -timeout=20 -print_final_stats=1 \
	-artifact_prefix="$corpora/found-$name-" "$@" >"$log" 2>&1 </dev/null || result=found
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name" "${runs:-0}" \
	"$FUZZ_SECONDS" "$result" >>"$BUILDDIR/fuzz-results.tsv"
echo "$name: ${runs:-0} runs, $result"
[ "$result" = good ] || { grep -vE '^#[0-9]' "$log"; exit 1; }
