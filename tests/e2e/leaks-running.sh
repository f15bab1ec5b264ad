#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread that runs is seen where it stands when the picture is taken: by its next system call it
# may be far down its stack, and hold blocks there that it did not have when it was first stopped.
. "$(dirname "$0")/lib.sh"
needs jq

victim deep awkward --kind=deep
pristine_take "$VICTIM"
for _ in 1 2 3 4 5 6; do
	attach -p "$VICTIM" --leaks -d 0 --json
	expect "$STATUS" 0 "exit status"
	json_expect .leaks.definitely_lost.count 0
	json_expect .leaks.covers_older_blocks true
	pristine_check "$VICTIM"
done
finished deep
