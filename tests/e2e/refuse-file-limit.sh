#!/bin/sh
# SPDX-License-Identifier: MIT
# A target at its limit on open files: refused before anything is touched, unless nothing is opened
# in it; what the refusal advises helps. One that reaches it in mid-session is left pristine.
. "$(dirname "$0")/lib.sh"
needs jq python3 prlimit
victim truth truth_c
limit=$(($(find "/proc/$VICTIM/fd" -type l | wc -l) + 2))
prlimit --pid "$VICTIM" --nofile="$limit": || skip "prlimit is not allowed"
pristine_take "$VICTIM"
for loader in auto dlopen map; do
	attach -p "$VICTIM" -d 1 --loader=$loader
	expect "$STATUS" 3 "exit status with --loader=$loader"
	said_one_line "limit on open files \($limit, ulimit -n\).*prlimit --nofile=[0-9]+: --pid"
	pristine_check "$VICTIM" --quiet
done
advice=$(sed -n 's/.*raise it: //p' "$ERRORS")
attach leaks -p "$VICTIM"
expect "$STATUS" 0 "exit status of leaks"
pristine_check "$VICTIM" --quiet
$advice || fail "what it advises: $advice"
exact_session truth truth_c --loader=dlopen
ended truth

for loader in dlopen map; do
	victim crowded truth_c
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --json --leaks --loader=$loader
	attach_await "$VICTIM"
	prlimit --pid "$VICTIM" --nofile=0:
	truth crowded
	attach_end INT
	report_good
	pristine_check "$VICTIM"
	truth_holds crowded truth_c
	ended crowded
done
