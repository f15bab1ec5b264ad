#!/bin/sh
# SPDX-License-Identifier: MIT
# No thread sees an EINTR, a lost wake-up, a changed mask or register over several attaches,
# with signals and handlers that jump arriving all the time.
. "$(dirname "$0")/lib.sh"

victim check selfcheck --kind=mix --threads=24
pristine_take "$VICTIM"
cycle=0
while [ "$cycle" -lt "${CYCLES:-$(in_full 5 2)}" ]; do
	attach -p "$VICTIM" -d 0.2 --sample=65536 --json
	expect "$STATUS" 0 "exit status"
	pristine_check "$VICTIM"
	cycle=$((cycle + 1))
done
checked check
finished check
case $ANSWER in *'"eintr":0'*) ;; *) fail "EINTR was seen: $ANSWER" ;; esac
