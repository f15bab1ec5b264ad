#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread that waited when memattach came by dlopen, and makes no system call any more when it
# leaves: the shim goes all the same, while it runs on. And where such a thread runs in code that
# nobody can unwind, above words that calls of the shim have left.
. "$(dirname "$0")/lib.sh"
needs jq
victim busy turns_busy
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --loader=dlopen $EXACT --json
attach_await "$VICTIM"
tell busy b
await 20 grep -q running "/proc/$VICTIM/syscall" || fail "it is not busy"
attach_end
expect "$STATUS" 0 "exit status"
answered busy busy && fail "it has not been busy for long enough"
json_expect .session.loader dlopen
json_expect .session.detached pristine
pristine_check "$VICTIM"
kill -USR1 "$VICTIM"
answer busy busy
finished busy

for loader in dlopen map; do
	victim machine turns_busy
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --loader=$loader $EXACT --json
	attach_await "$VICTIM"
	tell machine j
	answer machine holds
	attach_end
	expect "$STATUS" 0 "exit status"
	json_expect .session.loader $loader
	json_expect '.session.events.alloc >= 10000' true
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	kill -USR1 "$VICTIM"
	finished machine
done
