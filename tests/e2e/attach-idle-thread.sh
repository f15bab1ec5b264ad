#!/bin/sh
# SPDX-License-Identifier: MIT
# The only thread that waits is of SCHED_IDLE, on a processor that others have. If dlopen were
# called on it, it would keep the loader's lock for as long as it gets no processor, and the
# program's own calls would wait for it: for a second where they take a microsecond.
. "$(dirname "$0")/lib.sh"
needs jq

victim idle idle_thread
[ "$VICTIM" != none ] || skip "there is one processor only"
pristine_take "$VICTIM"
entered=0
for _ in 1 2 3 4 5 6 7 8; do
	attach -p "$VICTIM" -d 0.2 --json
	checked idle
	if [ "$STATUS" -eq 3 ]; then	# nor does it stop in time where others need the processor
		said_one_line 'could not be stopped .*try again when it is less busy'
		pristine_check "$VICTIM"
		continue
	fi
	expect "$STATUS" 0 "exit status"
	json_expect .session.loader map
	json_expect .session.detached pristine
	entered=$((entered + 1))
done
[ "$entered" -gt 0 ] || fail "it was never entered"
note "the longest call: $ANSWER"
attach -p "$VICTIM" -d 0.2 --loader=dlopen
expect "$STATUS" 3 "exit status for dlopen"
said_one_line 'SCHED_IDLE'
ended idle
