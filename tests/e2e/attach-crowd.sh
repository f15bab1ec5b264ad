#!/bin/sh
# SPDX-License-Identifier: MIT
# A thousand threads on stacks of 16 KiB, all of which wait; the same beside BUSY that do nothing
# but allocate; threads that begin and end without a pause. How long they stood still is said.
: "${TEST_LIMIT:=300}" "${BUSY:=24}"
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

# crowd NAME IDLE BUSY
crowd() {
	victim "$1" crowd --idle="$2" --busy="$3"
	checked "$1"
	pristine_take "$VICTIM"
	! dealt 2 || watched "$1" -d 0.3
	! dealt 2 || watched "$1" -d 0.3 --loader=map --exact
	! dealt 2 || watched "$1" -d 0.2 --leaks
	! dealt 2 || watched "$1" -d 0 --leaks --snapshot=stop
	finished "$1"
	case $ANSWER in *'"eintr":0}'*) ;; *) fail "EINTR was seen: $ANSWER" ;; esac
}

crowd waiting 1000 0
crowd mixed $((1000 - BUSY)) "$BUSY"

victim storm churn --threads=16
pristine_take "$VICTIM"
for _ in $(seq "$(in_full 3 1)"); do
	watched storm -d 0.2 --sample=4096
	watched storm -d 0.2 --sample=4096 --loader=map
done
finished storm
note "storm: $ANSWER"
