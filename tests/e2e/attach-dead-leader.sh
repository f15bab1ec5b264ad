#!/bin/sh
# SPDX-License-Identifier: MIT
# The main thread of the target has ended, its workers go on: /proc shows a zombie.
. "$(dirname "$0")/lib.sh"
needs jq

victim leader awkward --kind=leader
await 20 grep -q '^State:.Z' "/proc/$VICTIM/status" || fail "the main thread is not dead"
pristine_take "$VICTIM"
for loader in map auto; do
	attach -p "$VICTIM" -d 0.3 $EXACT --json --loader="$loader"
	case $STATUS in
	0)	json_expect .session.detached pristine ;;
	3)	said_one_line 'main thread|leader|zombie' ;;
	*)	fail "exit status $STATUS" ;;
	esac
	note "$loader: status $STATUS"
	pristine_check "$VICTIM"
done
finished leader
