#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that brings the pages of one of its stacks itself (userfaultfd): nobody waits for such a
# page while its threads stand still. (Copies of that stack, made by its own thread, bring some.)
. "$(dirname "$0")/lib.sh"

# The kernel may have none, or not for us.
"$VICTIMS/userfault" </dev/null >"$WORK/probe" 2>&1 ||
	! grep -q 'no userfaultfd' "$WORK/probe" || skip "no userfaultfd here"

victim faults userfault
pristine_take "$VICTIM"
for options in --loader=map '--exact --loader=map' --loader=dlopen; do
	# shellcheck disable=SC2086 # words
	attach -p "$VICTIM" -d 0.2 $options
	expect "$STATUS" 0 "exit status with $options"
	pristine_check "$VICTIM"
	tell faults c
	answer faults checked
	note "$options: $ANSWER"
done
ended faults
