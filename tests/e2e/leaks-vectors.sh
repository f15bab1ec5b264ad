#!/bin/sh
# SPDX-License-Identifier: MIT
# What only a vector register of a running thread holds is not lost: pairs of pointers are
# built there, and memmove has the last words of an array nowhere else.
. "$(dirname "$0")/lib.sh"
needs jq

for kind in vector vector-alone; do
	for way in copy stop; do
		victim "$kind-$way" awkward "--kind=$kind"
		pristine_take "$VICTIM"
		for _ in 1 2 3; do
			attach -p "$VICTIM" --leaks -d 0 --snapshot=$way --json
			expect "$STATUS" 0 "exit status"
			json_expect .leaks.definitely_lost.count 0
			json_expect .leaks.covers_older_blocks true
			pristine_check "$VICTIM"
		done
		finished "$kind-$way"
	done
done
