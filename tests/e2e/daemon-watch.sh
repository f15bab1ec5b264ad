#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd watches whom its rules mean: who is there, who comes later; leaves whom they no longer
# mean after SIGHUP, and all of them when it is told to stop, as they were.
. "$(dirname "$0")/lib.sh"
needs jq
. "$E2E/daemon_lib.sh"

# --- what it is told ----------------------------------------------------------------------

rules '[watch a]
nmae = x'
"$daemon" --check-config --config="$config" 2>"$log"
expect $? 2 "exit status of --check-config"
grep -q "memattach.conf:7: nmae: no such key" "$log" || fail "$(cat "$log")"
begin
wait "$DAEMON"
expect $? 2 "exit status with settings that are wrong"
"$daemon" --config="$WORK/none" --state="$state" 2>"$log"
expect $? 2 "exit status without the file"
grep -q "none: No such file" "$log" || fail "$(cat "$log")"

# --- who is there, who comes, who is excluded -----------------------------------------------

victim one leaky
ONE=$VICTIM
rules "[watch leaky]
exe = $VICTIMS/leaky"
"$daemon" --check-config --config="$config" >"$WORK/check"
expect $? 0 "exit status of --check-config"
grep -q "^  $ONE leaky" "$WORK/check" || fail "$(cat "$WORK/check")"
"$daemon" --check-config --config="$config" >/dev/full 2>"$log"
expect $? 6 "exit status of --check-config when nobody can read it"
pristine_take "$ONE"
begin
armed "$ONE"
victim other processes --kind=idle
OTHER=$VICTIM
victim two leaky
TWO=$VICTIM
armed "$TWO"	# who came before it was looked at before
await 20 says 2 "watched by .watch leaky"
"$TOOLS/ringwatch" "$OTHER" gone 0 >/dev/null || fail "no rule means $OTHER"

# One ends: it is said, and the others are watched on.
tell two q
await 20 says 1 "$TWO leaky: it has ended"

# --- other settings --------------------------------------------------------------------------

rules '[watch leaky]
exe = broken
no key'
kill -HUP "$DAEMON"
await 20 says 1 "those from before stay"
armed "$ONE"
rules "[watch none]
name = none-$$
[watch idle]
exe = $VICTIMS/processes
retry-after = 1s
[watch leaky]
exe = $VICTIMS/leaky
exclude-name = leaky"
kill -HUP "$DAEMON"
armed "$OTHER"
await 20 says 1 "$ONE leaky: left as it was" || fail "$(cat "$log")"
pristine_check "$ONE"

# Its rule stands at another place now: it is watched on, and again by that rule after an end.
rules "[watch idle]
exe = $VICTIMS/processes"
kill -HUP "$DAEMON"
await 20 says 1 "settings read again: 1 rules" || fail "$(cat "$log")"
sessions=$(cat "/proc/$DAEMON/task/$DAEMON/children")
armed "$OTHER"
says 1 "$OTHER processes: watched by .watch idle" || fail "begun anew: $(cat "$log")"
kill -KILL $sessions
await 20 says 1 "$OTHER processes: what a killed" || fail "$(cat "$log")"
"$MEMATTACH" status --control="$control" --json >"$REPORT" || fail "status: $(cat "$log")"
json_expect ".processes[] | select(.pid == $OTHER) | .rule" idle
await 20 says 2 "$OTHER processes: watched by .watch idle" || fail "$(cat "$log")"
armed "$OTHER"

# --- the end -------------------------------------------------------------------------------------

end
await 1 says 1 "$OTHER processes: left as it was"
"$TOOLS/ringwatch" "$OTHER" gone 0 >/dev/null || fail "something is still in $OTHER"
for recording in "$state"/leaky/leaky-"$ONE"-*.memattach; do
	"$MEMATTACH" report "$recording" --json >"$REPORT" || fail "$recording can't be read"
	json_expect .target.pid "$ONE"
	json_expect .session.detached pristine
	! command -v sqlite3 >/dev/null ||
		expect "$(sqlite3 "$recording" 'SELECT max_bytes FROM session')" 1073741824 \
			"its largest size"
done
[ "$(ls "$state/leaky")" ] || fail "no recording"

# A daemon that is killed: its keepers leave by themselves.
mv "$VICTIMS/leaky" "$VICTIMS/named-$$"
victim three "named-$$"
rules "[watch leaky]
name = named-$$"
pristine_take "$VICTIM"
begin
armed "$VICTIM"
kill -KILL "$DAEMON"
wait "$DAEMON" 2>/dev/null
"$TOOLS/ringwatch" "$VICTIM" gone 20000 >"$WORK/ringwatch" || fail "$(cat "$WORK/ringwatch")"
pristine_check "$VICTIM"

# Where the kernel tells nothing of processes: those that come later are found all the same.
if ! unshare -n true 2>/dev/null; then
	note "no network namespaces: not tried without the kernel's word"
	exit 0
fi
begin unshare -n
await 20 says 1 "processes are looked for every 5 seconds"
victim four "named-$$"
pristine_take "$VICTIM"
armed "$VICTIM"
end
pristine_check "$VICTIM"
