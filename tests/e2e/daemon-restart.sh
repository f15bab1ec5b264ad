#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd is killed with all that it has started, and started again: what was left in processes
# is taken out, also where no rule means them any more, where the list of them is lost or forged,
# and where they can't be entered at first, which status says. Who is watched by another one is
# left alone.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/daemon_lib.sh"
cp "$BUILDDIR/tests/victims/family" "$VICTIMS/" || fail "no copy of family"
list=$state/.watched

# kill_everything: memattachd with keepers, analysts and their like, at once.
kill_everything() {
	kill -STOP "$DAEMON"
	family=$DAEMON
	for _ in 1 2 3; do
		for parent in $family; do
			family="$family $(cat "/proc/$parent/task"/*/children 2>/dev/null)"
		done
	done
	family=$(echo "$family" | tr -s ' ' '\n' | sort -un)
	kill -KILL $family 2>/dev/null
	wait "$DAEMON" 2>/dev/null
	for pid in $family; do
		await 30 is_gone "$pid" || fail "process $pid does not end"
	done
}

# left PID: something of ours is there, and records nothing.
left() {
	! "$TOOLS/ringwatch" "$1" gone 0 >/dev/null || fail "nothing was left in $1"
	"$TOOLS/ringwatch" "$1" inert 12000 >/dev/null || fail "$1 still records"
}

# gone PID: nothing of ours is there any more.
gone() {
	"$TOOLS/ringwatch" "$1" gone 20000 >"$WORK/ringwatch" || fail "left in $1: $(cat "$log")"
	pristine_check "$1"
}

# ask COMMAND...: memattachd, the answer in $REPORT.
ask() { "$MEMATTACH" "$@" --control="$control" >"$REPORT" 2>"$ERRORS"; }

# cleaning EXPRESSION: what status says of $TWO.
cleaning() { json ".processes[] | select(.pid == $TWO) | $1"; }

tried_in_vain() { ask status --json && [ "$(cleaning '.tries > 1 and .due_in > 0')" = true ]; }

# --- the same rules ---

victim one leaky
ONE=$VICTIM
victim two churn --threads=2
TWO=$VICTIM
pristine_take "$ONE"
pristine_take "$TWO"
rules "[watch leaky]
exe = $VICTIMS/leaky
[watch churn]
exe = $VICTIMS/churn"
begin
armed "$ONE"
armed "$TWO"
kill_everything
left "$ONE"
left "$TWO"
grep -q "^$ONE [0-9]* leaky leaky-$ONE-" "$list" || fail "not noted: $(cat "$list")"

# --- nobody means it any more, and it can't be entered at first ---

kill -STOP "$TWO"
rules "retry-after = 1s
[watch leaky]
exe = $VICTIMS/leaky
[daemon]
metrics-file = $WORK/metrics
metrics-every = 1s"
chmod 711 "$WORK"
begin
await 20 says 1 "$ONE leaky: what a killed memattach had left in it is out" || fail "$(cat "$log")"
armed "$ONE"
await 20 grep -q "$TWO churn: something is left in it, dormant; .*stopped" "$log" ||
	fail "$(cat "$log")"
await 30 tried_in_vain || fail "status: $(cat "$REPORT" "$ERRORS" "$log")"
expect "$(cleaning '.state, .name, .rule')" 'cleaning
churn
churn' "what status says of it"
expect "$(cleaning '.error | test("stopped")')" true "why: $(cat "$REPORT")"
json_expect '.processes | length' 2
ask status || fail "status: $(cat "$ERRORS")"
grep -qE "^ *$TWO churn +churn +cleaning, tried (again in .*|now): .*stopped" "$REPORT" ||
	fail "$(cat "$REPORT")"
ask ps || fail "ps: $(cat "$ERRORS")"
grep -qE "^ *$TWO .* cleaning +churn +churn$" "$REPORT" || fail "$(cat "$REPORT")"
await 20 grep -q '^memattach_targets{state="cleaning"} 1$' "$WORK/metrics" ||
	fail "$(cat "$WORK/metrics")"
if is_root; then
	expect "$(python3 "$E2E/control_client.py" "$control" \
		'{"memattach": 1, "command": "status"}' nobody | jq -c .processes)" "[]" \
		"what another user sees"
fi
ask attach --daemon -p "$TWO"
expect $? 5 "exit status: to be cleaned first"
said_one_line "can't be taken out: .*stopped"
kill -CONT "$TWO"
await 30 says 1 "$TWO churn: what a killed" || fail "not tried again: $(cat "$log")"
gone "$TWO"
ask status --json || fail "status: $(cat "$ERRORS")"
expect "$(cleaning .state)" "" "its state once it is clean"
! grep -q "^$TWO " "$list" || fail "still noted: $(cat "$list")"

# --- a keeper alone ---

kill -KILL $(cat "/proc/$DAEMON/task/$DAEMON/children")
await 20 says 1 "$ONE leaky: something is left in it, dormant, and is to be taken out" ||
	fail "$(cat "$log")"
await 20 says 2 "$ONE leaky: what a killed" || fail "not taken out: $(cat "$log")"
armed "$ONE"
kill -KILL $(cat "/proc/$DAEMON/task/$DAEMON/children")
await 20 says 2 "$ONE leaky: something is left in it, dormant, and is to be taken out" ||
	fail "$(cat "$log")"
ask attach --daemon -p "$ONE" || fail "attach: $(cat "$ERRORS" "$log")"	# cleaned first
says 3 "$ONE leaky: what a killed" || fail "not taken out: $(cat "$log")"
armed "$ONE"

# --- the list is lost, or forged; one that it names is another's ---

kill_everything
timeout 60 "$MEMATTACH" -p "$TWO" -o "$WORK/other.memattach" >"$WORK/other" 2>&1 &
OTHER=$!
own "$OTHER"
armed "$TWO"
begun "$TWO"
boot=$(cat /proc/sys/kernel/random/boot_id)
{
	printf 'memattachd-watched 1 %s\n%s 1 leaky\n' "$boot" "$ONE"
	printf '%s %s ../../etc passwd\n-1 1 x\n%s %s leaky\n' "$ONE" "$BEGUN" "$TWO" "$BEGUN"
	printf '%s %s le' "$OTHER" "$BEGUN"
} >"$list"
begin
await 20 says 1 "$ONE leaky: what a killed" || fail "not found: $(cat "$log")"
armed "$ONE"
armed "$TWO"
kill -0 "$OTHER" || fail "another's session has ended: $(cat "$WORK/other")"
end
gone "$ONE"
armed "$TWO"
kill -INT "$OTHER"
wait "$OTHER"
gone "$TWO"

# --- what is forked meanwhile is watched, too ---

victim three family
rules "[watch family]
exe = $VICTIMS/family"
begin
armed "$VICTIM"
tell three f
answer three child
CHILD=${ANSWER##* }
armed "$CHILD"
end
"$TOOLS/ringwatch" "$CHILD" gone 0 >/dev/null || fail "left in the child"
finished three
