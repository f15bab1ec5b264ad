#!/bin/sh
# SPDX-License-Identifier: MIT
# A target that is counted is left as it was: with busy threads, when it forks, when memattach is
# killed; and what ends meanwhile is reported with all that was counted.
. "$(dirname "$0")/lib.sh"
needs jq python3

victim check selfcheck --kind=mix --threads=10
pristine_take "$VICTIM"
for kind in totals sites; do
	for loader in map dlopen; do
		dealt 2 || continue
		attach -p "$VICTIM" -d 0.5 --counts=$kind --json --loader=$loader
		expect "$STATUS" 0 "exit status"
		json_valid
		json_expect .session.detached pristine
		json_expect .session.loader $loader
		json_expect '.totals.alloc_count > 100' true
		json_expect '.session.stacks.mismatched' 0
		pristine_check "$VICTIM"
		checked check
	done
done
attach -p "$VICTIM" -d 0.5 --counts --json --verify-stacks=7
expect "$STATUS" 0 "exit status with an audit"
json_expect '.session.stacks.audited > 10' true
json_expect '.session.stacks.mismatched' 0
json_expect '[.sites[] | select(.kind == "malloc") | .alloc_count] | add' \
	"$(json .totals.alloc_count)"

attach_begin -p "$VICTIM" --counts --json
attach_await "$VICTIM"
family=$(attach_processes)
for pid in $family; do
	kill -KILL "$pid" 2>/dev/null
done
attach_wait 2>/dev/null
checked check
for pid in $family; do
	await 30 is_gone "$pid" || fail "process $pid does not end"
done
timeout 60 "$MEMATTACH" cleanup -p "$VICTIM" >"$WORK/cleanup" 2>"$ERRORS" || fail "cleanup: $?"
pristine_check "$VICTIM"
finished check

victim forkers forkers
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --counts --json
attach_await "$VICTIM"
tell forkers f
answer forkers family
children=${ANSWER#"family ok "}
own $children
attach_end
expect "$STATUS" 0 "exit status with children"
json_expect .session.detached pristine
json_expect '.session | has("children_left")' false
for pid in $children; do
	"$TOOLS/ringwatch" "$pid" gone 0 >"$WORK/ringwatch" || fail "$pid keeps something of ours"
done
pristine_check "$VICTIM"
for pid in $children; do	# one that ends takes its own children with it
	kill -TERM "$pid" 2>/dev/null
done
for pid in $children; do
	await 30 grep -q "^child ok $pid\$" "$WORK/forkers.out" || fail "child $pid"
done
finished forkers

victim truth truth_threads --threads=3 --rounds=2000
attach_begin -p "$VICTIM" --counts=histogram --json --interval=0.05
attach_await "$VICTIM"
truth truth
ended truth
attach_wait 2>/dev/null
expect "$STATUS" 4 "exit status of a target that ended"
json_expect .session.detached target-ended
expect "$(json .totals.alloc_count)" "$(jq .totals.alloc_count "$WORK/truth.truth")" "allocations"
expect "$(json .totals.alloc_bytes)" "$(jq .totals.alloc_bytes "$WORK/truth.truth")" "bytes"
