#!/bin/sh
# SPDX-License-Identifier: MIT
# Signals that the target ignores reach a tracer all the same, and a wait must not end by them.
. "$(dirname "$0")/lib.sh"
: "${CYCLES:=10}"

# USR1 is ignored by choice (inherited), CHLD and WINCH by default.
trap '' USR1
victim check selfcheck --kind=epoll --threads=4
trap - USR1
TARGET=$VICTIM
pristine_take "$TARGET"
victim storm storm --kind=each --pid="$TARGET" --signals=10,17,28
cycle=0
while [ "$cycle" -lt "$CYCLES" ]; do
	attach -p "$TARGET" -d 0.1 --sample=65536
	expect "$STATUS" 0 "exit status of cycle $cycle"
	cycle=$((cycle + 1))
done
tell storm q
answer storm verdict
[ "${ANSWER##* }" -gt 1000 ] || fail "no storm: $ANSWER"
pristine_check "$TARGET"
checked check
finished check
case $ANSWER in *'"eintr":0'*) ;; *) fail "EINTR was seen: $ANSWER" ;; esac
