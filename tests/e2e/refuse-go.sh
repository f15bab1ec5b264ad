#!/bin/sh
# SPDX-License-Identifier: MIT
# A Go program that allocates in C (cgo), of which a thread waits on a goroutine's stack: refused
# before anything is touched. Started by `run` it can be watched, to its end.
. "$(dirname "$0")/lib.sh"
needs go jq

GOCACHE=$WORK/gocache GO111MODULE=off GOFLAGS='' CC=$CC CGO_ENABLED=1 \
	go build -o "$WORK/allocates" "$SRCDIR/tests/victims/allocates.go" 2>"$WORK/build" ||
	fail "no Go program: $(cat "$WORK/build")"
chmod -R u+w "$WORK/gocache"

background allocates "$WORK/allocates"
VICTIM=$LAST
await 60 grep -q '^ready' "$WORK/allocates.out" || fail "not ready"
# While the runtime makes a thread, signals are blocked in it.
settled() { ! grep -q '^SigBlk:.*[1-9a-f]' "/proc/$VICTIM/task"/*/status; }
await 20 settled || fail "a thread of Go's blocks signals for good"
pristine_take "$VICTIM"
for how in '-d 0.1' '-d 0.1 --loader=map' '-d 0.1 --exact' '-d 0 --leaks --snapshot=stop'; do
	# shellcheck disable=SC2086
	attach -p "$VICTIM" $how
	expect "$STATUS" 3 "exit status, $how"
	said_one_line 'Go runtime.*pprof'
	pristine_check "$VICTIM" --quiet
done
tell allocates q
answer allocates verdict

# Before it begins nothing tells it from another program.
# shellcheck disable=SC2086
printf q | timeout 60 "$MEMATTACH" run $EXACT -o "$WORK/recording" -- "$WORK/allocates" \
	>"$WORK/run" 2>&1
expect "$?" 0 "exit status of run ($(cat "$WORK/run"))"
attach report --json "$WORK/recording"
json_expect '.totals.alloc_count >= 100' true
