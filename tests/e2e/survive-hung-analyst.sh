#!/bin/sh
# SPDX-License-Identifier: MIT
# The analyst stands still while the target's threads wait for room in the rings: within
# seconds the keeper ends it, the target goes on, and nothing is left.
. "$(dirname "$0")/lib.sh"

victim check selfcheck --kind=malloc-loop --threads=4
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json
attach_await "$VICTIM"
analyst=$(attach_analysts)
[ -n "$analyst" ] || fail "no process of memattach is in a seccomp filter"
kill -STOP "$analyst"
await 60 is_gone "$ATTACH" || fail "memattach waits for an analyst that does not answer"
attach_wait
case $STATUS in
5)	timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$WORK/cleanup" || fail "cleanup" ;;
6)	;;
*)	fail "exit status $STATUS" ;;
esac
grep -q "the analyst did not finish in time and was ended" "$ERRORS" ||
	fail "not said: why it ended"
is_gone "$analyst" || fail "the analyst is still there"
"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "something is still mapped"
pristine_check "$VICTIM"
checked check
finished check
