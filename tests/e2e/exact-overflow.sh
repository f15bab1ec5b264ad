#!/bin/sh
# SPDX-License-Identifier: MIT
# Exact mode with an analyst that stands still most of the time: the target never waits, what found
# no room is counted, and what lives is right but for as many blocks.
. "$(dirname "$0")/lib.sh"
needs jq python3

victim truth truth_threads --threads=4 --rounds=60000
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --exact --ring-size=1M --json
attach_await "$VICTIM"
analyst=$(attach_analysts)
[ -n "$analyst" ] || fail "no process of memattach is in a seccomp filter"

# The whole work within one of its pauses, or some: never so long that the keeper ends it.
tell truth g
told() { grep -q '^truth .*}$' "$WORK/truth.out"; }
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	kill -STOP "$analyst"
	await 1 told && break
	kill -CONT "$analyst"
	sleep 0.1
done
kill -CONT "$analyst"
await 60 told || fail "no truth: $(cat "$WORK/truth.err")"
sed -n 's/^truth //p' "$WORK/truth.out" >"$WORK/truth.truth"
attach_end INT
expect "$STATUS" 0 "exit status"
json_valid
json_expect .session.detached pristine
pristine_check "$VICTIM"

json_expect .session.blocked_seconds 0
of_truth() { jq -r ".totals.$1" "$WORK/truth.truth"; }
lost_alloc=$(json .session.lost.alloc)
lost_free=$(json .session.lost.free)
[ "$lost_alloc" -gt 0 ] || fail "nothing was lost: there was room for all"
expect $(($(json .session.events.alloc) + lost_alloc)) "$(of_truth alloc_count)" \
	"allocations seen and lost"
expect $(($(json .session.events.free) + lost_free)) "$(of_truth free_count)" \
	"frees seen and lost"
json ".totals.live_count - $(of_truth live_count) | fabs <= $lost_alloc + $lost_free" |
	grep -q true || fail "$(json .totals.live_count) live, truth $(of_truth live_count)"
json_expect '.totals | [.double_free_count, .illegal_free_count] | map(. // 0) | add' 0
ended truth
