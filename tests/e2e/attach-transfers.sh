#!/bin/sh
# SPDX-License-Identifier: MIT
# A program of which a thread is in the middle of a large write, send or receive half of the time: a
# stop would end it with a part. Of fifteen attaches hardly one does; without waiting for their end
# two parts are what an attach costs.
. "$(dirname "$0")/lib.sh"
needs jq

# moved NAME: a block more in each thread. Sets SHORTS, how many were not whole so far.
moved() {
	checked "$1"
	SHORTS=$(echo "$ANSWER" | cut -d ' ' -f 3)
}

for number in 1 2 3; do	# pipe; then a socket, too; then receives, too
	victim moves transfers --threads="$number"
	pristine_take "$VICTIM"
	moved moves
	expect "$SHORTS" 0 "short before memattach came"
	for options in "" --loader=map --leaks; do
		for _ in 1 2 3 4 5; do
			# shellcheck disable=SC2086 # none, or a word
			attach -p "$VICTIM" -d 0.1 --json $options
			case " $options $STATUS" in
			' --leaks '*1 | *' 0') ;;
			*) fail "exit status $STATUS, $options" ;;
			esac
			json_expect .session.detached pristine
		done
	done
	pristine_check "$VICTIM"
	moved moves
	note "$number threads: $SHORTS short, $ANSWER"
	[ "$SHORTS" -le $((8 * number)) ] || fail "stopped in the middle of $SHORTS transfers"
	ended moves
done

# Nor does it cost one to ask each thread what it may do: whether its calls are dispatched (where
# SIGSYS is handled), what its filter lets pass.
for why in sigsys filter; do
	victim asked transfers --threads=3 --looked-at="$why"
	pristine_take "$VICTIM"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		attach -p "$VICTIM" -d 0.1 --json --loader=map
		expect "$STATUS" 0 "exit status, $why"
		json_expect .session.detached pristine
	done
	pristine_check "$VICTIM"
	moved asked
	note "$why: $SHORTS short, $ANSWER"
	[ "$SHORTS" -le 10 ] || fail "stopped in the middle of $SHORTS transfers, $why"
	ended asked
done

# One that is never without such a call is attached to all the same.
victim never transfers --threads=1 --rest=0
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 0.1 --json
expect "$STATUS" 0 "exit status"
json_expect .session.detached pristine
pristine_check "$VICTIM"
ended never

# Who submits a request to the kernel's ring and waits for its completion in one call would be told
# that it was submitted, before there is one.
victim ring ring_waits
if [ "$VICTIM" = none ]; then
	note "there is no io_uring here"
else
	for options in "" --loader=map --leaks; do
		for _ in 1 2 3; do
			# shellcheck disable=SC2086 # none, or a word
			attach -p "$VICTIM" -d 0.1 --json $options
			json_expect .session.detached pristine
		done
	done
	moved ring
	note "ring: $SHORTS short, $ANSWER"
	[ "$SHORTS" -le 5 ] || fail "stopped in the middle of $SHORTS waits for a ring"
	ended ring
fi
