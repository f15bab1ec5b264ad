#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that protects its heap and makes good what faults on it in a handler of SIGSEGV: dlopen
# and dlclose, which write to the heap on a borrowed thread, fault there, too.
. "$(dirname "$0")/lib.sh"
needs jq

# left_well LOADER
left_well() {
	expect "$STATUS" 0 "exit status with $1"
	json_expect .session.loader "$1"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	checked barriers
	note "$1: $ANSWER"
}

victim barriers barriers
pristine_take "$VICTIM"
for loader in dlopen map; do
	for _ in 1 2 3; do
		attach -p "$VICTIM" -d 0.2 --json --loader="$loader"
		left_well "$loader"
	done
done
ended barriers

# The barriers begin while memattach is there: only the way out meets them.
victim barriers barriers --late=1
pristine_take "$VICTIM"
attach_begin -p "$VICTIM" --json --loader=dlopen
attach_await "$VICTIM"
tell barriers b
answer barriers begun
attach_end INT
left_well dlopen
ended barriers
