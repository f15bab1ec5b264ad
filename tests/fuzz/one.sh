#!/bin/sh
# SPDX-License-Identifier: MIT
# One fuzzer's turn, for run.sh, which has built it, in the folder of that build: fuzz/one.sh NAME
# Exit status 1: it found something. What it learned, printed and has done stays (run.sh).
set -u
name=$1
corpora=$BUILDDIR/fuzz-corpus
log=$name.log
result=good
# An input may take so long by the clock: others may have the machine, as storms of processes do.
UNIT_LIMIT=120
begin=$(date +%s)
set -- "$corpora/$name" "seeds/$name"
[ ! -f "$SRCDIR/tests/fuzz/$name.dict" ] || set -- "$@" "-dict=$SRCDIR/tests/fuzz/$name.dict"
timeout --foreground $((FUZZ_SECONDS + 2 * UNIT_LIMIT)) "tests/fuzz/fuzz_$name" \
	-max_total_time="$FUZZ_SECONDS" -timeout=$UNIT_LIMIT -print_final_stats=1 \
	-artifact_prefix="$corpora/found-$name-" "$@" >"$log" 2>&1 </dev/null || result=found
seconds=$(($(date +%s) - begin))
[ "$seconds" -lt "$FUZZ_SECONDS" ] || seconds=$FUZZ_SECONDS
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name" "${runs:-0}" \
	"$seconds" "$result" >>"$BUILDDIR/fuzz-results.tsv"
echo "$name: ${runs:-0} runs, $result"
[ "$result" = good ] || { grep -vE '^#[0-9]' "$log"; exit 1; }
