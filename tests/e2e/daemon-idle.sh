#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that does nothing: who watches it under memattachd sleeps for seconds; a snapshot and a
# search for leaks come whole all the same, as long as they are awaited it is awake.
. "$(dirname "$0")/lib.sh"
needs jq
many=$VICTIMS/many_stacks
. "$E2E/daemon_lib.sh"
cp "$many" "$VICTIMS/" || fail "no copy of many_stacks"

ask() { timeout 100 "$MEMATTACH" "$@" --control="$control" >"$WORK/answer" 2>"$WORK/errors"; }
switches() { cat /proc/"$1"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'; }
# All who watch, memattachd itself not.
family() {
	for child in $(cat "/proc/$DAEMON/task/$DAEMON/children"); do
		echo "$child" $(cat "/proc/$child/task/$child/children")
	done
}
awoken() {
	for one in $(family); do
		switches "$one"
	done | awk '{ n += $1 } END { print n }'
}

victim app many_stacks --stacks=600
APP=$VICTIM
pristine_take "$APP"
rules "[watch app]
exe = $VICTIMS/many_stacks
sample = 64
snapshot-every = 1h"
begin
armed "$APP"
tell app g
await 60 answered app truth || fail "no stacks: $(cat "$WORK/app.out")"
sleep 25	# for pauses to grow to their longest
before=$(awoken)
sleep 10	# a measurement's length
awake=$(($(awoken) - before))
note "awake $awake times in ten seconds"
[ "$awake" -lt 40 ] || fail "awake $awake times in ten seconds"

ask snapshot -p "$APP" -o "$WORK/snapshot.json" || fail "snapshot: $(cat "$WORK/errors")"
frames=$(jq '[.sites[].frames[]?] | length' "$WORK/snapshot.json")
nameless=$(jq '[.sites[].frames[]? | select(.module | endswith("many_stacks")) |
	select(.function == null)] | length' "$WORK/snapshot.json")
note "$frames frames, $nameless of the program without a name"
[ "$frames" -gt 1000 ] || fail "a snapshot of $frames frames"
expect "$nameless" 0 "frames of the program without a name"
# A search goes on by turns: the analyst has to be awake for it, not as often as before.
analyst=$(family | awk '{ print $NF }')
before=$(switches "$analyst") begun=$(date +%s%N)
ask leaks --daemon -p "$APP" --json
status=$?
took=$((($(date +%s%N) - begun) / 1000000)) awake=$(($(switches "$analyst") - before))
[ "$status" -le 1 ] || fail "leaks: $(cat "$WORK/errors")"
note "a search of $took ms: the analyst was awake $awake times"
[ $((awake * 1000)) -ge $((took * 4)) ] || fail "awake $awake times in $took ms of a search"
jq -en 'input | .definitely_lost' "$WORK/answer" >/dev/null ||
	fail "leaks: $(head -c 300 "$WORK/answer")"

end
pristine_check "$APP"
tell app q
