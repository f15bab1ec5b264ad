#!/bin/sh
# SPDX-License-Identifier: MIT
# Job control stops the target at any moment of an attach and a detach: memattach never
# hangs, and the target goes on as before.
. "$(dirname "$0")/lib.sh"

# left_well: done, or refused, or told that a cleanup is needed.
left_well() {
	case $STATUS in
	0 | 3)	;;
	5 | 6)	timeout 30 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup" ;;
	*)	fail "exit status $STATUS" ;;
	esac
	pristine_check "$VICTIM"
}

victim check selfcheck --kind=malloc-loop,sleep,read --threads=6
TARGET=$VICTIM
pristine_take "$TARGET"
victim storm storm --kind=stop --pid="$TARGET"
for cycle in 1 2 3; do
	attach -p "$TARGET" -d 0.2 --sample=65536
	case $STATUS in 0 | 3 | 5 | 6) ;; *) fail "exit status $STATUS in cycle $cycle" ;; esac
	note "cycle $cycle: status $STATUS"
done
finished storm
# A cycle that left something makes the next one refuse.
VICTIM=$TARGET STATUS=5
left_well
checked check
finished check

# The target stops itself while the shim is on its way in, and stays stopped.
for loader in map dlopen; do
	victim stop hostile --kind=stop
	pristine_take "$VICTIM"
	for cycle in 1 2; do
		tell stop n
		answer stop next
		attach_begin -p "$VICTIM" -d 0.1 --loader="$loader"
		await 2 is_gone "$ATTACH" || note "$loader: waits for the target to go on"
		kill -CONT "$VICTIM"
		attach_wait
		note "$loader: status $STATUS"
		left_well
	done
	finished stop
done
