#!/bin/sh
# SPDX-License-Identifier: MIT
# A memattach that watches is a process like others: each of its own is attached to or refused, and
# it goes on and leaves its target as it was.
. "$(dirname "$0")/lib.sh"

victim inner churn --threads=2
pristine_take "$VICTIM"
inner=$VICTIM
"$TOOLS/start" "$MEMATTACH" -p "$inner" --json >"$WORK/inner.json" \
	2>"$WORK/inner.err" </dev/null &
first=$!
own "$first"
ATTACH=$first
attach_await "$inner"
watched=0 refused=0
for pid in $(attach_processes); do
	attach -p "$pid" -d 0.3 --json
	case $STATUS in
	0)	json_expect .session.detached pristine
		watched=$((watched + 1)) ;;
	3)	refused=$((refused + 1)) ;;
	*)	! is_gone "$pid" || continue	# a helper that had done its work
		fail "process $pid of a memattach: status $STATUS, $(cat "$ERRORS")" ;;
	esac
done
note "of its processes $watched watched, $refused refused"
[ "$watched" -gt 0 ] && [ "$refused" -gt 0 ] || fail "all were refused, or none"
kill -INT "$first"
await 60 is_gone "$first" || fail "it does not end"
wait "$first" || fail "it ended with status $?: $(cat "$WORK/inner.err")"
expect "$(jq -r .session.detached "$WORK/inner.json")" pristine "what it left"
pristine_check "$inner"
finished inner
