#!/bin/sh
# SPDX-License-Identifier: MIT
# A thousand threads on stacks of 16 KiB, all of which wait; the same beside BUSY that do nothing
# but allocate; threads that begin and end without a pause. How long they stood still is said.
: "${TEST_LIMIT:=600}" "${BUSY:=24}"
. "$(dirname "$0")/lib.sh"
needs jq

# watched NAME OPTIONS: pristine before and after, nobody missed a turn.
watched() {
	name=$1
	shift
	attach -p "$VICTIM" --json "$@"
	case " $* $STATUS" in
	*' --leaks '*1 | *0) ;;
	*) fail "exit status $STATUS, $*: $(cat "$ERRORS")" ;;
	esac
	json_expect .session.detached pristine
	note "$name, $*: $(json '.session | "\(.threads_stopped) stops of a thread, the longest " +
		"\(.attach_stop_us_max) and \(.detach_stop_us_max) us"')"
	pristine_check "$VICTIM"
	checked "$name"
}

# waiter CALL: one of the idle threads that wait in it.
waiter() {
	for task in "/proc/$VICTIM/task"/*; do
		[ "${task##*/}" != "$VICTIM" ] || continue
		case $(cat "$task/syscall") in "$1 "*) echo "${task##*/}" && return ;; esac
	done
	fail "no thread waits in call $1"
}

# waits TID: how often it gave up the processor by itself: to stop, and to wait again. That others
# took it from it meanwhile doesn't count.
waits() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$VICTIM/task/$1/status"; }

# Sets MORE: how much more often $first stood still for a report than $last. False where a stop of
# all was given up, since it took too long: it has stopped some and not others.
compare_waits() {
	MORE=$(($(waits "$first") - $(waits "$last")))
	MEMATTACH_DEBUG=1 attach -p "$VICTIM" --json -d 0 --leaks
	MORE=$(($(waits "$first") - $(waits "$last") - MORE))
	! grep -q 'a stop of all .* was given up' "$ERRORS"
}

# What needs a thread with more of a stack than these have takes one that has, and stops no other in
# vain: one that waits without a limit, which would be the first to be tried, is stopped no more
# often than one of the last.
undisturbed() {
	first=$(waiter 0)
	last=$(waiter 202)
	# Beside other tests three stops of four are given up, and a report has several.
	await 120 compare_waits || fail "$1: no stop of all threads in time"
	case $STATUS in 0 | 1) ;; *) fail "exit status $STATUS: $(cat "$ERRORS")" ;; esac
	[ "$MORE" -le 0 ] || fail "$1: a thread that can't be borrowed gave up $MORE times more"
}

# crowd NAME IDLE BUSY
crowd() {
	victim "$1" crowd --idle="$2" --busy="$3"
	checked "$1"
	pristine_take "$VICTIM"
	watched "$1" -d 0.3
	watched "$1" -d 0.3 --loader=map --exact
	watched "$1" -d 0.2 --leaks
	watched "$1" -d 0 --leaks --snapshot=stop
	[ "$3" -gt 0 ] || undisturbed "$1"
	finished "$1"
	case $ANSWER in *'"eintr":0}'*) ;; *) fail "EINTR was seen: $ANSWER" ;; esac
}

crowd waiting 1000 0
crowd mixed $((1000 - BUSY)) "$BUSY"

victim storm churn --threads=16
pristine_take "$VICTIM"
for _ in 1 2 3; do
	watched storm -d 0.2 --sample=4096
	watched storm -d 0.2 --sample=4096 --loader=map
done
finished storm
note "storm: $ANSWER"
