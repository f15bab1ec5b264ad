#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads that wait, one in each system call that a stop can interrupt: none sees an EINTR or the
# end of its wait too early; whoever waits for a signal, a message or a child gets it. Time-outs
# that the kernel keeps over a stop end although stops come again before they are over.
. "$(dirname "$0")/lib.sh"
needs jq

# cycle OPTIONS: an attach, all threads stopped at once in some.
cycle() {
	attach -p "$VICTIM" --json "$@"
	case " $* $STATUS" in
	*' --leaks '*1 | *0) ;;
	*) fail "exit status $STATUS, $*: $(cat "$ERRORS")" ;;
	esac
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
}

victim waits selfcheck --kind=waits --threads=64
checked waits
pristine_take "$VICTIM"
round=0
while [ "$round" -lt "${CYCLES:-$(in_full 3 1)}" ]; do
	cycle -d 0.2
	cycle -d 0.2 --exact --loader=map
	cycle -d 0 --leaks --snapshot=stop
	cycle -d 0.1 --leaks
	round=$((round + 1))
done
checked waits
finished waits
case $ANSWER in *'"eintr":0,'*) ;; *) fail "EINTR was seen: $ANSWER" ;; esac
note "$ANSWER"

victim kept selfcheck --kind=kept --threads=20 --wait=2000
pristine_take "$VICTIM"
tell kept c
stops=0
until answered kept check; do
	cycle -d 0 --leaks --snapshot=stop
	stops=$((stops + 1))
done
answer kept check
[ "$stops" -ge 4 ] || fail "only $stops stops in two rounds of two seconds"
finished kept
case $ANSWER in *'"eintr":0,'*) ;; *) fail "EINTR was seen: $ANSWER" ;; esac
note "$stops stops: $ANSWER"
