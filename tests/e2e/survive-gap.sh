#!/bin/sh
# SPDX-License-Identifier: MIT
# The keeper stands still for longer than hooks may record without it, as on a machine that does:
# recording goes on after it, the report says how long there was none, and no block is
# taken for another that had its address before.
. "$(dirname "$0")/lib.sh"
. "$E2E/servers.sh"
needs jq python3

slow_server_start 1000 60

# The keeper: memattach's own process that is neither the front nor in the analyst's filter.
keeper_of() {
	for pid in $(attach_processes); do
		[ "$pid" != "$ATTACH" ] && grep -q '^Seccomp:[[:space:]]*0' "/proc/$pid/status" &&
			echo "$pid" && return
	done
}

# On a busy machine it takes a while until a stop is seen by all threads.
stands_still() {
	! grep -hE '^State:' "/proc/$1"/task/*/status | grep -qv 'T (stopped)'
}

with_gap() { # options
	attach_begin -p "$VICTIM" --leaks -d 8 --json "$@"
	attach_await "$VICTIM"
	sleep 1
	keeper=$(keeper_of)
	kill -STOP "$keeper" || fail "no keeper"
	await 10 stands_still "$keeper" || fail "the keeper does not stop"
	sleep 1.5
	kill -CONT "$keeper"
	attach_wait
	expect "$STATUS" 1 "exit status"
	json_valid
	json_expect '.session.lost.gaps == 1 and .session.lost.gap_seconds > 0.3' true
	json_expect .session.detached pristine
	"$TOOLS/ringwatch" "$VICTIM" gone 0 || fail "something of ours is still mapped"
}

with_gap $EXACT
# events of before and after it
json_expect '[.timeline[] | select(.alloc_count > 0) | .time] | (max - min) > 2.4' true
# what is lost was allocated where things are lost, or before
json '. as $r | .leaks.groups[] | select(.verdict == "definitely-lost" and .site) | .site as $s |
	[$r.sites[] | select(.id == $s) | .frames[].function]
	| map(select(. == "request_refuse")) | length' >"$WORK/lost"
[ -s "$WORK/lost" ] || fail "nothing is lost"
! grep -vqx 1 "$WORK/lost" || fail "something healthy is called lost: $(json .leaks.groups)"
json_expect '[.sites[].live_count] | all(. >= 0)' true

with_gap --sample=512
