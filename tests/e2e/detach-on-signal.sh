#!/bin/sh
# SPDX-License-Identifier: MIT
# SIGINT, SIGTERM and SIGHUP: detach pristine, report what was seen, status 0.
. "$(dirname "$0")/lib.sh"
needs jq python3
for signal in INT TERM HUP; do
	victim truth truth_c
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --json
	attach_await "$VICTIM"
	truth truth
	attach_end "$signal"
	expect "$STATUS" 0 "exit status after SIG$signal"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	truth_holds truth truth_c
	ended truth
done

# While it still attaches: whatever it had begun is undone. Before it is memattach it is a shell's
# child in the background, which ignores SIGINT.
is_memattach() { [ "$(cat "/proc/$ATTACH/comm")" = memattach ]; }
victim truth truth_c
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" $EXACT --json
await 10 is_memattach || fail "memattach does not start"
kill -INT "$ATTACH"
attach_wait
case $STATUS in
0 | 3 | 130) ;;
*)	fail "exit status $STATUS after a SIGINT at the start" ;;
esac
pristine_check "$VICTIM" --quiet
ended truth
