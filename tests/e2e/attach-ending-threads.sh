#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads that end while they are at work for memattach: another one does it, and the end of a
# thread is not taken for the end of the process, which would leave hooks in it.
. "$(dirname "$0")/lib.sh"
needs jq
: "${TIMES:=6}"

victim ending awkward --kind=ending
pristine_take "$VICTIM"
for loader in map auto; do
	for _ in $(seq "$TIMES"); do
		attach -p "$VICTIM" -d 0.2 --sample=4096 --json --loader="$loader"
		expect "$STATUS" 0 "exit status with $loader"
		json_expect .session.detached pristine
		pristine_check "$VICTIM"
	done
done
finished ending
