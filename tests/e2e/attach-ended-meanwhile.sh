#!/bin/sh
# SPDX-License-Identifier: MIT
# A target that is killed while memattach enters it is said to have ended, by the exit status for
# that, whatever failed then; nothing of memattach's is left running. Before it is entered there may
# be no such process.
. "$(dirname "$0")/lib.sh"

# ended_meanwhile MILLISECONDS OPTIONS
ended_meanwhile() {
	after=$1
	shift
	background target "$BUILDDIR/tests/victims/load" --threads=3
	target=$LAST
	await 20 grep -q ready "$WORK/target.out" || fail "no target"
	"$MEMATTACH" -p "$target" -d 1 "$@" >"$WORK/out" 2>"$WORK/err" &
	ATTACH=$!
	sleep "0.$(printf %03d "$after")"
	kill -KILL "$target"
	family=$(attach_processes)	# takes longer than an attach, on a machine that is busy
	wait "$ATTACH"
	STATUS=$?
	wait "$target" 2>/dev/null
	for process in $family; do
		is_gone "$process" || await 10 is_gone "$process" || fail "$process is left"
	done
	case $STATUS in
	4)	entered=$((entered + 1)) ;;
	3)	grep -q "no process\|No such process\|the process has ended\|has ended and waits" \
			"$WORK/err" ||
			fail "after $after ms: $(cat "$WORK/err")" ;;
	*)	fail "after $after ms status $STATUS: $(cat "$WORK/err")" ;;
	esac
	grep -q "it has ended" "$WORK/err" && midway=$((midway + 1))
}

entered=0 midway=0
for after in 1 4 8 12 16 20 24 28 32 36 40 46 52 58 64 70 80 90 100 120; do
	ended_meanwhile "$after"
	ended_meanwhile "$after" --loader=map --exact
	ended_meanwhile "$after" --leaks
done
note "60 targets killed: $entered while they were attached to or watched, $midway midway"
[ "$midway" -gt 0 ] || fail "none was killed while it was entered"
