#!/bin/sh
# SPDX-License-Identifier: MIT
# A server that loses something in 1 % of its requests, among a cache, sessions, a pool and a
# table that grows for a while: the leak is the first group, by variable and line, and its count
# is the server's own; nothing healthy is called lost, and growing only what grows, while it does.
# SECONDS_WATCHED: of each of the two looks (12; the contract's two minutes are `make soak`'s).
. "$(dirname "$0")/lib.sh"
. "$E2E/servers.sh"
needs jq python3
: "${SECONDS_WATCHED:=12}"
ATTACH_LIMIT=$((SECONDS_WATCHED + 80))
RATE=1500
# what a stack or a register still names of the last requests
STALE=10

slow_server_start "$RATE" $((2 * SECONDS_WATCHED + 60)) 2000

# The first group of blocks that were allocated while it was watched. What the same leak lost before
# has no site, and stands where its bytes put it: before that group only if it is probably its.
LEAK='[.leaks.groups[] | select(.site)][0]'

# first_is_the_leak: named by variable, function and line.
first_is_the_leak() {
	note "first: $(json "$LEAK | [.verdict, .variable, .count, .site] | tostring")"
	json_expect '.leaks.groups[0].verdict' definitely-lost
	json_expect "$LEAK.verdict" definitely-lost
	json_expect "$LEAK.variable" reason
	json_expect "($LEAK.site) as \$s | .leaks.groups[0] |
		(.site // .likely_site // \$s) == \$s" true
	json_expect "($LEAK.site) as \$s | [.sites[] | select(.id == \$s) | .frames[] |
		select(.function == \"request_refuse\") | .line][0]" "$(counts refuse_line)"
}


# while the routes grow
tell server g
lost_before=$(counts refused)
attach -p "$VICTIM" --leaks -d "$SECONDS_WATCHED" $EXACT --json
lost_after=$(counts refused)
expect "$STATUS" 1 "exit status"
json_valid
first_is_the_leak
lost=$(json "$LEAK.count")
note "$lost lost while watched; $lost_before to $lost_after by the server's count"
[ "$lost" -le $((lost_after - lost_before)) ] || fail "more are lost than were"
[ "$lost" -ge $((SECONDS_WATCHED * RATE / 100 / 4)) ] || fail "too few are lost"
functions_of definitely-lost | grep -vx -e request_refuse -e older &&
	fail "something healthy is called lost"
functions_of possibly-lost |
	grep -x -e cache_put -e session_open -e route_learn -e pool_refill &&
	fail "something healthy is called possibly lost"
functions_of growing | grep -qx route_learn || fail "the routes grow: $(json .leaks.groups)"
functions_of growing | grep -vx -e route_learn -e request_refuse &&
	fail "something healthy is called growing"

# when they do no longer
tell server s
attach -p "$VICTIM" --leaks -d "$SECONDS_WATCHED" $EXACT --json
expect "$STATUS" 1 "exit status"
first_is_the_leak
functions_of growing | grep -vx request_refuse && fail "nothing else grows any more"

# sampled, for the same answer: so densely that some of the few that are lost are in it, whatever
# the machine has time for (a budget of 20 % found none of them beside other work)
attach -p "$VICTIM" --leaks -d 6 --sample=512 --json
first_is_the_leak

# cold: every one of them, and nothing else
kill "$LOAD"
await 10 is_gone "$LOAD"
attach -p "$VICTIM" --leaks -d 0 --json
expect "$STATUS" 1 "exit status of a cold look"
lost=$(json '.leaks | .definitely_lost.count + .indirectly_lost.count + .possibly_lost.count')
all=$(counts refused)
note "cold: $lost of $all"
{ [ "$lost" -le "$all" ] && [ "$lost" -ge $((all - STALE)) ]; } || fail "$lost lost, not $all"
"$TOOLS/ringwatch" "$VICTIM" gone 0 || fail "something of ours is still mapped"
tell server q
await 30 is_gone "$VICTIM_SELF" || fail "the server does not end"
