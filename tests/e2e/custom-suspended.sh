#!/bin/sh
# SPDX-License-Identifier: MIT
# A function of --alloc-fn that lets another coroutine run in the middle of a call: no thread's
# stack shows that the call is under way. It is found, wherever its stack lies; the hooks' code
# stays as long as it may go on there, and goes afterwards.
. "$(dirname "$0")/lib.sh"
needs jq

# watch_begin OPTIONS: from before a call, which is then suspended.
watch_begin() {
	attach_begin -p "$VICTIM" --json --alloc-fn=slow_take --free-fn=slow_give "$@"
	attach_await "$VICTIM"
	tell suspends n
	answer suspends passed
	tell suspends s
	answer suspends suspended
}

# The entries are as they were: from here on memattach waits for the call, and for nothing else.
unhooked() { ! "$TOOLS/ringwatch" "$VICTIM" armed 0; }

# A thread's control block holds its id, which must not be taken for the place of its stack: small
# ids are looked for (as in a container), where that is allowed.
! is_root || echo 300 >/proc/sys/kernel/ns_last_pid 2>/dev/null || note "ids as they come"

for stack in below heap mapping shared; do
	victim suspends suspends --stack=$stack
	pristine_take "$VICTIM"

	# A thread whose stack is too small for dlopen is passed over, whatever lies below it.
	attach -p "$VICTIM" -d 0.1 --loader=dlopen
	expect "$STATUS" 0 "exit status"
	note "$stack: it goes on while memattach waits for it"
	watch_begin $EXACT
	kill -INT "$ATTACH"
	await 20 unhooked || fail "still hooked"
	sleep 1
	kill -0 "$ATTACH" 2>/dev/null || fail "left while a call was suspended"
	tell suspends g
	answer suspends resumed
	attach_wait
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	ended suspends
done

note "it goes on after memattach has given up"
victim suspends suspends
pristine_take "$VICTIM"
watch_begin --sample=1 --loader=map
attach_end INT
expect "$STATUS" 5 "exit status"
json_expect .session.detached dormant
grep -q 'hooked call is still under way on a stack at 0x' "$ERRORS" ||
	fail "why is not said: $(cat "$ERRORS")"
tell suspends g
answer suspends resumed
tell suspends n
answer suspends passed
attach cleanup -p "$VICTIM"
expect "$STATUS" 0 "exit status of cleanup"
pristine_check "$VICTIM"
ended suspends
