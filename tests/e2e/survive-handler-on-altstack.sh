#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread is in the middle of a hooked realloc, in a signal handler on an alternate stack,
# while memattach leaves: nothing is unmapped under it, and once it is out all goes.
. "$(dirname "$0")/lib.sh"

for loader_kind in map:altstack dlopen:altstack map:localstack dlopen:localstack; do
	loader=${loader_kind%:*} kind=${loader_kind#*:}
	note "$loader, $kind"
	victim handler awkward --kind="$kind"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --json --loader="$loader"
	attach_await "$VICTIM"
	tell handler f
	answer handler fault
	kill -INT "$ATTACH"
	! "$TOOLS/ringwatch" "$VICTIM" gone 1500 >"$WORK/ringwatch" ||
		fail "unmapped under a thread that was in a hooked call"
	tell handler r
	answer handler return
	attach_wait
	case $STATUS in
	0)	;;
	5)	timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup" ;;
	*)	fail "exit status $STATUS" ;;
	esac
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "something is still mapped"
	pristine_check "$VICTIM"
	finished handler
done
