#!/bin/sh
# SPDX-License-Identifier: MIT
# Sampled mode: the 95 % intervals cover the truth as often as they should.
# A starved reader may lose records when nobody waits for it, so the target does.
# RUNS seeded runs; 100 of them are what the contract is about (make soak).
. "$(dirname "$0")/lib.sh"
needs jq python3
: "${RUNS:=6}"
: "${BYTES:=4096}"
runs=""
seed=1
while [ "$seed" -le "$RUNS" ]; do
	victim truth truth_sites 96 "$seed"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --sample="$BYTES" --seed="$seed" --on-overflow=block --json
	attach_await "$VICTIM"
	truth truth
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.mode sampled
	json_expect .session.sample_interval_bytes "$BYTES"
	json_expect .session.detached pristine
	json_expect '.session.lost | add' 0
	pristine_check "$VICTIM"
	ended truth
	cp "$REPORT" "$WORK/$seed.json"
	cp "$WORK/truth.truth" "$WORK/$seed.truth"
	runs="$runs $WORK/$seed"
	seed=$((seed + 1))
done
# shellcheck disable=SC2086
python3 "$E2E/check_coverage.py" truth_sites $runs || fail "coverage"
