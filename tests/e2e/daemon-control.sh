#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd is asked how it fares: by memattach status, and by clients that speak nonsense, stall
# or may see nothing. None of them holds it up.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"
. "$E2E/daemon_lib.sh"

# status: what it answers, in $REPORT.
status() { "$MEMATTACH" status --control="$control" --json "$@" >"$REPORT" 2>"$ERRORS"; }

# one EXPRESSION: of the process that the test looks at.
one() { json ".processes[] | select(.pid == $ONE) | $1"; }

has_figures() { status && [ "$(one .figures.alloc_count)" -gt 0 ]; }

# raw TEXT [USER]: what it answers to that, sent by that user.
raw() { python3 "$E2E/control_client.py" "$control" "$@"; }

# --- nobody there -------------------------------------------------------------------------------

status
expect $? 3 "exit status without memattachd"
said_one_line 'no memattachd answers'

# --- what it says -------------------------------------------------------------------------------

chmod 711 "$WORK"
victim one churn --threads=1
ONE=$VICTIM
pristine_take "$ONE"
victim two processes --kind=stopped
TWO=$VICTIM
echo "$VICTIM_SELF" >"$WORK/supervisor"
rules "[watch churn]
exe = $VICTIMS/churn
exe = $WORK/theirs
[watch other]
exe = $VICTIMS/processes
exclude-pid-file = $WORK/supervisor"
begin
armed "$ONE"
await 20 has_figures || fail "no figures: $(cat "$REPORT" "$ERRORS" "$log")"
json_expect .memattachd.pid "$DAEMON"
json_expect .memattachd.protocol 1
json_expect .memattachd.rules 2
json_expect '.processes | length' 2
expect "$(one .state)" watched "its state"
expect "$(one .rule)" churn "its rule"
expect "$(one '.figures.lost.alloc | type')" number "lost"
[ -f "$(one .recording)" ] || fail "no recording $(one .recording)"
json_expect ".processes[] | select(.pid == $TWO) | .state" refused
"$MEMATTACH" status --control="$control" >"$WORK/text" 2>&1 || fail "$(cat "$WORK/text")"
grep -qE "^ *$ONE churn +churn +[0-9.]+ .* (KiB|MiB|B) " "$WORK/text" || fail "$(cat "$WORK/text")"
grep -qE "^ *$TWO processes +other +refused, tried again in " "$WORK/text" ||
	fail "$(cat "$WORK/text")"

# --- who may see what ---------------------------------------------------------------------------

if is_root && may_trace_others; then
	cp "$VICTIMS/churn" "$WORK/theirs"
	as_service theirs "$WORK/theirs" --threads=1
	await 20 grep -q '^ready' "$WORK/theirs.out" || fail "it does not start"
	theirs=$(sed -n 's/^ready //p' "$WORK/theirs.out")
	armed "$theirs"
	raw '{"memattach": 1, "command": "status"}' nobody >"$WORK/nobody"
	expect "$(jq -c '[.memattachd.sees_all, .memattachd.rules, [.processes[].pid]]' \
		"$WORK/nobody")" "[false,null,[$theirs]]" "what nobody sees"
	raw '{"memattach": 1, "command": "status"}' daemon >"$WORK/other"
	expect "$(jq -c .processes "$WORK/other")" "[]" "what a user without processes sees"
else
	note "not root: no other user's view"
fi

# --- nonsense, and those who stall --------------------------------------------------------------

expect "$(raw 'status' | jq -r .error | cut -c1-10)" "no request" "an answer to nonsense"
expect "$(raw '{"memattach": 2, "command": "status"}' | jq -r .error | cut -c1-16)" \
	"another protocol" "an answer to another protocol"
expect "$(raw '{"memattach": 1, "command": "no"}' | jq -r .error)" "no such command" "an answer"
expect "$(raw '{"memattach": 1, "command": ["status"]}' | jq -r .error)" \
	'"command" is missing' "an answer"
python3 "$E2E/control_client.py" "$control" --abuse >"$WORK/abuse" 2>&1 ||
	fail "$(cat "$WORK/abuse")"
status || fail "it does not answer any more: $(cat "$ERRORS" "$log")"

# --- another one, and after a kill --------------------------------------------------------------

first=$DAEMON first_log=$log
log=$WORK/second.err
begin
await 20 says 1 "another memattachd is" || fail "$(cat "$log")"
end
DAEMON=$first log=$first_log
status || fail "the first one's socket is gone"
kill -KILL "$DAEMON"
wait "$DAEMON" 2>/dev/null
"$TOOLS/ringwatch" "$ONE" gone 20000 >"$WORK/ringwatch" || fail "$(cat "$WORK/ringwatch")"
status
expect $? 3 "exit status when it was killed"
begin
armed "$ONE"
await 20 status || fail "no answer at the socket that was left: $(cat "$log")"
end
[ ! -e "$control" ] || fail "the socket is left"
pristine_check "$ONE"
finished one
