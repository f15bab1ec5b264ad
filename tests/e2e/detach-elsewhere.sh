#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads that never come back to their own stack (fibers, Lisp): what can't be seen from where they
# run is searched for in all memory, and where nothing is found nothing of ours is left. A hooked
# call that waits on a stack which its thread has left, from a signal handler even, is found so; the
# hooks' code stays as long as it may go on there. And code that the program writes is its own.
. "$(dirname "$0")/lib.sh"
needs jq

for way in "--sample=4096" "--sample=4096 --loader=map" "--exact" "--leaks --sample=4096"; do
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

for way in "$EXACT" "--sample=1 --loader=map"; do
	note "a call that was left in the middle, $way"
	victim elsewhere elsewhere
	pristine_take "$VICTIM"
	# shellcheck disable=SC2086 # words
	attach_begin -p "$VICTIM" --json $way
	attach_await "$VICTIM"
	tell elsewhere s
	answer elsewhere suspended
	kill -INT "$ATTACH"
	await 20 unhooked || fail "still hooked"
	sleep 3
	kill -0 "$ATTACH" 2>/dev/null || fail "left while a call was under way"
	tell elsewhere g
	answer elsewhere resumed
	attach_wait
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	tell elsewhere c
	answer elsewhere checked
	ended elsewhere
done
