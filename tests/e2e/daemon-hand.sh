#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd is told what to do: it watches a process that no rule means, leaves one that a rule
# means and does not come back, hands over snapshots and leaks of sessions that go on, and tells
# its events. Who may not see a process can do nothing to it, and does not learn that it is there.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"
. "$E2E/daemon_lib.sh"

cp "$BUILDDIR/tests/victims/leaky_plug.so" "$VICTIMS/" || fail "no copy of leaky's library"

# ask COMMAND [ARGUMENTS]: memattach's answer, in $REPORT; its errors in $ERRORS.
ask() {
	ask_command=$1
	shift
	"$MEMATTACH" "$ask_command" --control="$control" "$@" >"$REPORT" 2>"$ERRORS"
}

# raw TEXT [USER]: what it answers to that, sent by that user.
raw() { python3 "$E2E/control_client.py" "$control" "$@"; }

# state_of PID: what status says of it.
state_of() {
	ask status --json || return 1
	jq -r ".processes[] | select(.pid == $1) | .state" "$REPORT"
}

# is PID STATE
is() { [ "$(state_of "$1")" = "$2" ]; }

# heard EVENT PID: those who follow were told.
heard() {
	jq -s -e "any(.[]; .event == \"$1\" and .pid == $2)" "$WORK/events" >/dev/null 2>&1
}

chmod 711 "$WORK"
victim meant churn --threads=1
MEANT=$VICTIM
victim free leaky
FREE=$VICTIM
pristine_take "$MEANT"
victim stopped processes --kind=stopped
STOPPED=$VICTIM
rules "[watch churn]
exe = $VICTIMS/churn
snapshot-every = 1h"
begin
armed "$MEANT"
await 20 is "$MEANT" watched || fail "it is not watched: $(cat "$log")"
background follow "$MEMATTACH" watch --json --control="$control"
await 20 grep -q '"processes"' "$WORK/follow.out" || fail "watch: $(cat "$WORK/follow.err")"
ln -s "$WORK/follow.out" "$WORK/events"

note "a process that no rule means"
ask ps --json || fail "ps: $(cat "$ERRORS")"
expect "$(json ".processes[] | select(.pid == $FREE) | .state")" free "its state by ps"
ask attach --daemon -p "$FREE" --interval=3600 --json || fail "attach: $(cat "$ERRORS" "$log")"
json_expect .state watched
json_expect .rule by-hand
[ -f "$(json .recording)" ] || fail "no recording: $(cat "$REPORT")"
armed "$FREE"
ask ps --json
expect "$(json ".processes[] | select(.pid == $FREE) | .state")" watched "its state by ps"
ask attach --daemon -p "$FREE" || fail "a second time: $(cat "$ERRORS")"
ask attach --daemon -p "$FREE" --overhead=5
expect $? 3 "exit status: watched already, in another way"
ask attach --daemon -p "$FREE" --exact
expect $? 2 "exit status: an option that it does not take"
grep -q 'attach --daemon. takes no --exact' "$ERRORS" || fail "$(cat "$ERRORS")"
await 20 heard watched "$FREE" || fail "no event of it: $(cat "$WORK/events")"

note "one that can't be watched, and none"
ask attach --daemon -p "$STOPPED"
expect $? 3 "exit status: refused"
await 20 heard refused "$STOPPED" || fail "no event of it: $(cat "$WORK/events")"
ask attach --daemon -p 1073741823
expect $? 3 "exit status: no process"
said_one_line 'there is no such process'

note "snapshots of sessions that go on, each of this moment"
for _ in 1 2; do
	ask snapshot -p "$MEANT" --json || fail "snapshot: $(cat "$ERRORS" "$log")"
	json_expect .schema memattach-snapshot-1
	json_expect .target.pid "$MEANT"
	before=${count:-0}
	count=$(json .totals.alloc_count)
	[ "$count" -gt "$before" ] || fail "$count allocations, before $before"
done
ask snapshot -p "$MEANT" -o "$WORK/file.json" || fail "snapshot -o: $(cat "$ERRORS")"
jq -en "input | .totals.alloc_count >= $count" "$WORK/file.json" >/dev/null ||
	fail "not what it was told"
ask snapshot -p "$MEANT" --top 1 || fail "snapshot: $(cat "$ERRORS")"
grep -q "^live .* allocations" "$REPORT" || fail "$(cat "$REPORT")"
grep -q "(site [0-9]*)" "$REPORT" || fail "no site: $(cat "$REPORT")"
ask snapshot -p "$STOPPED"
expect $? 3 "exit status: not watched"
said_one_line 'it is not watched'
for i in 1 2 3; do	# at once
	"$MEMATTACH" snapshot -p "$MEANT" --json --control="$control" >"$WORK/at_once.$i" \
		2>"$WORK/at_once.$i.err" &
	own "$!"
	eval "one$i=\$!"
done
for i in 1 2 3; do
	eval "wait \$one$i" || fail "snapshot $i: $(cat "$WORK/at_once.$i.err")"
	jq -en 'input | .schema' "$WORK/at_once.$i" >/dev/null || fail "snapshot $i is none"
done

note "leaks of one that goes on"
tell free b
answer free built
ask leaks --daemon -p "$FREE" --json
expect $? 1 "exit status: leaks: $(cat "$ERRORS")"
[ "$(json .definitely_lost.bytes)" -gt 0 ] || fail "no leak: $(cat "$REPORT")"
[ "$(json '.groups | length')" -gt 0 ] || fail "no group: $(cat "$REPORT")"
ask leaks --daemon -p "$FREE"
expect $? 1 "exit status: leaks: $(cat "$ERRORS")"
grep -q '^definitely lost' "$REPORT" || fail "$(cat "$REPORT")"
is "$FREE" watched || fail "its session has ended: $(cat "$log")"

note "left, and left alone"
ask detach -p "$MEANT" --json || fail "detach: $(cat "$ERRORS" "$log")"
json_expect .state left
pristine_check "$MEANT"
await 20 heard left "$MEANT" || fail "no event of it: $(cat "$WORK/events")"
kill -HUP "$DAEMON"
await 20 says 1 "settings read again" || fail "no reload: $(cat "$log")"
expect "$(state_of "$MEANT")" "" "state of one that was detached"
expect "$(state_of "$FREE")" watched "state of one that was attached, after a reload"
ask detach -p "$MEANT" --json || fail "detach: $(cat "$ERRORS")"
json_expect .state unwatched
ask attach --daemon -p "$MEANT" --json || fail "attach: $(cat "$ERRORS" "$log")"
json_expect .rule churn

note "in another way"
ask set -p "$MEANT" --sample=4K --interval=1 --json || fail "set: $(cat "$ERRORS" "$log")"
json_expect .state watched
sampled() { [ "$(ask status --json; jq ".processes[] | select(.pid == $MEANT) |
	.figures.sample_interval_bytes" "$REPORT")" = 4096 ]; }
await 20 sampled || fail "not as it was set: $(cat "$REPORT")"
ask top || fail "top: $(cat "$ERRORS")"
grep -q "churn" "$REPORT" || fail "top: $(cat "$REPORT")"
ask top --top 1 || fail "top: $(cat "$ERRORS")"
expect "$(wc -l <"$REPORT")" 2 "lines of top: its head, and who holds most just now"
ask set -p "$MEANT"
expect $? 2 "exit status: nothing is set"

note "who may do what"
if is_root && may_trace_others; then
	cp "$VICTIMS/churn" "$WORK/theirs"
	as_service theirs "$WORK/theirs" --threads=1
	await 20 grep -q '^ready' "$WORK/theirs.out" || fail "it does not start"
	theirs=$(sed -n 's/^ready //p' "$WORK/theirs.out")
	for command in attach detach snapshot leaks; do
		request="{\"memattach\": 1, \"command\": \"$command\", \"pid\":"
		none=$(raw "$request 1073741823}" nobody)
		expect "$(raw "$request $FREE}" nobody)" "$none" "$command of another's process"
		expect "$(raw "$request $STOPPED}" nobody)" "$none" "$command of another's process"
		echo "$none" | jq -r .error | grep -q '^there is no such process' ||
			fail "$command: $none"
	done
	is "$FREE" watched || fail "somebody else has ended it"
	attach="{\"memattach\": 1, \"command\": \"attach\", \"pid\": $theirs"
	raw "$attach, \"overhead\": 90}" nobody | jq -r .error | grep -q '^only root' ||
		fail "a user orders what he likes"
	expect "$(raw "$attach}" nobody | jq -r .state)" watched "attach of one's own process"
	raw "$attach}" daemon | jq -r .error | grep -q '^there is no such process' || fail "attach"
	snapshot="{\"memattach\": 1, \"command\": \"snapshot\", \"pid\": $theirs}"
	expect "$(raw "$snapshot" nobody | jq -r .descriptor)" snapshot "snapshot of one's own"
	detach="{\"memattach\": 1, \"command\": \"detach\", \"pid\": $theirs}"
	expect "$(raw "$detach" nobody | jq -r .state)" left "detach of one's own process"
	python3 "$E2E/control_client.py" "$control" --followers nobody >"$WORK/followers" 2>&1 ||
		fail "$(cat "$WORK/followers")"
else
	note "not root: no other user's view"
fi

note "nonsense"
for pid in '"1"' -1 0 4294967297 1e300 '[1]' null; do
	raw "{\"memattach\": 1, \"command\": \"snapshot\", \"pid\": $pid}" >"$WORK/answer"
	expect "$(jq -r .status "$WORK/answer")" 2 "status for the pid $pid"
done
for order in '"overhead": -1' '"overhead": "1"' '"sample": 0.1' '"interval": 1e300' \
	'"overhead": 1, "sample": 1'; do
	raw "{\"memattach\": 1, \"command\": \"attach\", \"pid\": $FREE, $order}" >"$WORK/answer"
	expect "$(jq -r .status "$WORK/answer")" 2 "status for $order"
done

note "who follows hears the end, too"
end
await 20 heard left "$FREE" || fail "no event of it: $(cat "$WORK/events")"
pristine_check "$MEANT"
finished meant
VICTIM_SELF=$FREE
ended free
