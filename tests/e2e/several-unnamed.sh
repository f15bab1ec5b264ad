#!/bin/sh
# SPDX-License-Identifier: MIT
# Without -o, what is recorded of several processes is never in a folder: nothing is left there,
# whoever is killed; what was recorded until then is reported; a full TMPDIR is said.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/several_lib.sh"
TMPDIR=$WORK/tmp
export TMPDIR
mkdir "$TMPDIR"

nothing_left() { expect "$(ls -A "$TMPDIR")" "" "files in TMPDIR $1"; }

# two: two victims, and what watches them. Sets A, B.
two() {
	victim a processes --kind=idle; A=$VICTIM
	victim b selfcheck --kind=malloc-loop --threads=2; B=$VICTIM
	pristine_take "$A"
	pristine_take "$B"
	attach_begin -p "$A" -p "$B" --sample=4096 --json --interval=0.1
	attach_await "$A"
	attach_await "$B"
	await 30 recorded || fail "nothing is recorded"
	await 30 both_analysts || fail "not both are watched: $(attach_analysts)"
	nothing_left "while they are watched"
}

# The sizes of what is open there and has no name.
recorded() {
	for fd in $(for pid in $(attach_processes); do
		find "/proc/$pid/fd" -lname "$TMPDIR/*" 2>/dev/null
	done); do
		[ "$(stat -L -c %s "$fd" 2>/dev/null || echo 0)" -lt 60000 ] || return 0
	done
	return 1
}

both_analysts() { [ "$(attach_analysts | wc -l)" -eq 2 ]; }

gone() { "$TOOLS/ringwatch" "$1" gone 0; }

both_are_well() {
	pristine_check "$A" --quiet
	pristine_check "$B"
	checked b
	finished b
	finished a
}

note "the front of all is killed: its members leave"
two
kill -KILL "$ATTACH"
for pid in $A $B; do
	await 30 gone "$pid" || fail "$pid is not left"
done
nothing_left "after the front of all was killed"
both_are_well

note "all of memattach is killed at once: cleanup restores"
two
all=$(attach_processes)
# shellcheck disable=SC2086
kill -KILL $all
for pid in $all; do
	await 30 is_gone "$pid" || fail "$pid of memattach does not end"
done
nothing_left "after all was killed"
for pid in $A $B; do
	attach cleanup -p "$pid"
	expect "$STATUS" 0 "exit status of cleanup"
done
both_are_well

note "the analysts are killed: columns have what was recorded until then"
two
# shellcheck disable=SC2046
kill -KILL $(attach_analysts)
attach_wait
expect "$STATUS" 6 "exit status"
several_valid
sums_hold
# of A, where nothing happens, nothing may have been recorded yet
expect "$(of_process "$B" .watched)" true "watched"
[ "$(of_process "$B" .totals.alloc_count)" -gt 0 ] || fail "what was recorded is not reported"
nothing_left "after the analysts were killed"
both_are_well

note "no such folder"
victim a processes --kind=idle; A=$VICTIM
pristine_take "$A"
TMPDIR=$WORK/none attach -p "$A" -p 4194304 -d 0.2
expect "$STATUS" 6 "exit status without a folder"
said_one_line 'none: No such file.*TMPDIR.*-o'

note "a full one"
if is_root && unshare -m sh -c : 2>/dev/null; then
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o size=16k none "$TMPDIR" || exit 77
		exec timeout 60 "$@"' sh "$MEMATTACH" -p "$A" -p 4194304 -d 0.2 --json \
		>"$REPORT" 2>"$ERRORS"
	STATUS=$?
	if [ "$STATUS" -eq 77 ]; then
		note "tmpfs can't be mounted: not tried"
	else
		expect "$STATUS" 2 "exit status of a full folder"
		grep -q "^memattach: $A .*No space left on device.*TMPDIR" "$ERRORS" ||
			fail "why is not said: $(cat "$ERRORS")"
		of_process "$A" .problem | grep -q 'No space left' || fail "nor in the report"
	fi
else
	note "no mount namespaces here: a full folder not tried"
fi
pristine_check "$A" --quiet
finished a
