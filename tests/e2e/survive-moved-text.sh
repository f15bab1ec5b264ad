#!/bin/sh
# SPDX-License-Identifier: MIT
# A program makes its libc's code writable, or moves it to memory of no file, while it is watched:
# it is left, cleaned up after memattach was killed, and so are its children, or it is said why not.
# Nobody dies of it.
. "$(dirname "$0")/lib.sh"
needs jq

# begin LOADER [OPTIONS]
begin() {
	loader=$1
	shift
	victim moves moves_text
	attach_begin -p "$VICTIM" --json --loader="$loader" "$@"
	attach_await "$VICTIM"
}

# changes COMMAND: the code, and forks a child. Sets CHILD.
changes() {
	tell moves "$1"
	answer moves code
	tell moves f
	answer moves fork
	CHILD=${ANSWER#"fork ok "}
	own "$CHILD"
}

# works PID [left]: it lives, and nothing of ours is in it; left: what is does nothing.
works() {
	! is_gone "$1" || fail "$1 has died: $(cat "$WORK/moves.err")"
	[ "${2:-}" = left ] || "$TOOLS/ringwatch" "$1" gone 0 >"$WORK/ringwatch" ||
		fail "something is still mapped in $1"
}

# Some rounds of work after it all.
ends() {
	sleep 0.2	# it works every other millisecond: a jump to nowhere ends it by then
	! is_gone "$VICTIM" && ! is_gone "$CHILD" || fail "$VICTIM or its child $CHILD has died"
	kill -TERM "$CHILD"
	await 30 grep -q "^child ok $CHILD\$" "$WORK/moves.out" ||
		fail "child: $(cat "$WORK/moves.out" "$WORK/moves.err")"
	ended moves
}

# cleans PID STATUS: what cleanup says of it.
cleans() {
	timeout 60 "$MEMATTACH" cleanup -p "$1" >"$WORK/cleanup" 2>"$ERRORS"
	expect "$?" "$2" "exit status of cleanup of $1"
}

for loader in map dlopen; do
	for how in w p; do
		dealt 4 || continue
		note "$how, $loader: it is left"
		begin "$loader"
		changes "$how"
		attach_end
		expect "$STATUS" 0 "exit status"
		json_expect .session.detached pristine
		works "$VICTIM"
		works "$CHILD"
		ends

		note "$how, $loader: memattach is killed; the child first, or with its parent"
		begin "$loader"
		changes "$how"
		attach_kill
		cleans "$CHILD" 0
		works "$CHILD"
		cleans "$VICTIM" 0	# there may be nothing left to do
		works "$VICTIM"
		ends

		begin "$loader"
		changes "$how"
		attach_kill
		cleans "$VICTIM" 0
		works "$VICTIM"
		works "$CHILD"
		ends

		note "$how, $loader: its children are followed"
		begin "$loader" --follow
		changes "$how"
		[ "$how" = w ] || attach_await "$CHILD"
		attach_end
		expect "$STATUS" 0 "exit status"
		works "$VICTIM"
		works "$CHILD"
		ends
	done
done

if dealt 2; then
	note "writable for a while"
	victim moves moves_text
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --json
	attach_await "$VICTIM"
	changes w
	changes u
	attach_end
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	works "$VICTIM"
	pristine_check "$VICTIM"
	ends
fi

if dealt 2; then
	note "code of no file: it is left, and what was forked as well"
	begin map
	changes a
	attach_end
	expect "$STATUS" 0 "exit status"
	works "$VICTIM"
	works "$CHILD"
	ends
fi

if dealt 2; then
	note "code of no file: memattach is killed"
	begin map
	changes a
	attach_kill
	cleans "$CHILD" 3
	grep -q "memory of no file.*restart" "$ERRORS" ||
		fail "it does not say why: $(cat "$ERRORS")"
	works "$CHILD" left
	cleans "$VICTIM" 5	# with the child, which is listed
	grep -q "process $CHILD .*memory of no file" "$ERRORS" || fail "it does not say which"
	works "$VICTIM"
	works "$CHILD" left
	ends
fi

if dealt 2; then
	note "code of no file, dlopen: no stack can be unwound, which is said"
	begin dlopen --follow
	changes a
	attach_end
	expect "$STATUS" 5 "exit status"
	grep -qE "can call dlclose: (.*unwound|a frame belongs to no module)" "$ERRORS" ||
		fail "it does not say why"
	works "$VICTIM" left
	works "$CHILD" left
	ends
fi

for loader in map dlopen; do
	dealt 2 || continue
	note "a jump of the program's own into a hook, $loader: it stays as long as that is there"
	begin "$loader"
	tell moves j
	answer moves jump
	attach_end
	expect "$STATUS" 5 "exit status"
	grep -q "jumps to the hooks.*without harm" "$ERRORS" || fail "it does not say why"
	works "$VICTIM" left
	cleans "$VICTIM" 5
	sleep 0.2	# as above
	works "$VICTIM" left
	tell moves J
	answer moves free
	cleans "$VICTIM" 0
	works "$VICTIM"
	ended moves
done
