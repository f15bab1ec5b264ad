#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads that never come back to their own stack (fibers, Lisp): what can't be seen from where they
# run is searched for in all memory, and where nothing is found nothing of ours is left. A hooked
# call that waits on a stack which its thread has left, from a signal handler even, is found so; the
# hooks' code stays as long as it may go on there. And code that the program writes is its own.
. "$(dirname "$0")/lib.sh"
needs jq

for way in "--sample=4096" "--sample=4096 --loader=map" "--exact" "--leaks --sample=4096"; do
	dealt 3 || continue
	note "$way"
	victim elsewhere elsewhere
	pristine_take "$VICTIM"
	# shellcheck disable=SC2086 # words
	attach -p "$VICTIM" -d 1 --json $way
	case " $way $STATUS" in
	*' --leaks '*1 | *0) ;;
	*) fail "exit status $STATUS: $(cat "$ERRORS")" ;;
	esac
	json_expect .session.detached pristine
	[ "$(json .session.events.alloc)" -gt 0 ] || fail "nothing was seen"
	pristine_check "$VICTIM"
	tell elsewhere c
	answer elsewhere checked
	ended elsewhere
done

# The entries are as they were: from here on memattach waits for the call, and for nothing else.
unhooked() { ! "$TOOLS/ringwatch" "$VICTIM" armed 0; }

# left_in_the_middle OPTIONS: to the moment at which memattach waits for the call.
left_in_the_middle() {
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --json "$@"
	attach_await "$VICTIM"
	tell elsewhere s
	answer elsewhere suspended
	kill -INT "$ATTACH"
	await 20 unhooked || fail "still hooked"
}

for fibers in yes no; do
	note "a call that was left in the middle, other fibers: $fibers"
	victim elsewhere elsewhere --fibers=$fibers
	left_in_the_middle $EXACT
	sleep 5
	kill -0 "$ATTACH" 2>/dev/null || fail "left while a call was under way"
	tell elsewhere g
	answer elsewhere resumed
	attach_wait
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	ended elsewhere
done

note "it goes on after memattach has given up"
victim elsewhere elsewhere --fibers=no
left_in_the_middle --sample=1 --loader=map
attach_wait
expect "$STATUS" 5 "exit status"
json_expect .session.detached dormant
tell elsewhere g
answer elsewhere resumed
attach cleanup -p "$VICTIM"
expect "$STATUS" 0 "exit status of cleanup"
pristine_check "$VICTIM"
ended elsewhere
