#!/bin/sh
# SPDX-License-Identifier: MIT
# The attacker is a user whose process gets the id of another user's, whose session memattachd has
# not yet ended: he is told nothing of it, by the socket or over HTTP.
. "$(dirname "$0")/lib.sh"
needs jq python3 setpriv curl
is_root || skip "only root can be other users and choose ids"
may_trace_others || skip "no CAP_SYS_PTRACE"
. "$E2E/daemon_lib.sh"
USER=61005
chmod 1777 "$WORK"
own_copy=$WORK/memattach-user
cp "$MEMATTACH" "$own_copy" || fail "no copy"
as_user() { setpriv --reuid=$USER --regid=$USER --clear-groups "$@"; }

victim held leaky
HELD=$VICTIM
rules "[http]
listen = unix:$WORK/http
[watch leaky]
exe = $VICTIMS/leaky"
begin
armed "$HELD"
listed() {
	"$MEMATTACH" status --json --control="$control" |
		jq -e ".processes[] | select(.pid == $HELD and .figures != null)"
}
await 60 listed || fail "not watched: $(cat "$log")"
# Its keeper does not see that it ends.
for child in $(cat "/proc/$DAEMON/task/$DAEMON/children"); do
	grep -q '^memattach-http' "/proc/$child/comm" || keepers="${keepers:-} $child"
done
for keeper in $keepers; do kill -STOP "$keeper"; done
kill -KILL "$HELD"
wait "$HELD" 2>/dev/null
python3 "$E2E/begin_as.py" "$HELD" $USER sleep 1000 &
own $!
taken() { [ "$(stat -c %u "/proc/$HELD" 2>/dev/null)" = $USER ] &&
	grep -q '^sleep$' "/proc/$HELD/comm"; }
await 30 taken || { wait $!; [ $? -ne 77 ] || skip "no ids can be chosen here"; fail "not taken"; }
own "$HELD"

as_user "$own_copy" status --json --control="$control" >"$WORK/status" || fail "status"
expect "$(jq -c .processes "$WORK/status")" "[]" "what he is told of"
as_user "$own_copy" ps --json --control="$control" >"$WORK/ps" || fail "ps"
expect "$(jq -c "[.processes[] | select(.pid == $HELD) | .state, .rule]" "$WORK/ps")" \
	'["free",null]' "his own process in ps"
as_user "$own_copy" watch --json --control="$control" >"$WORK/heard" 2>/dev/null &
own $!
await 30 grep -q '"processes"' "$WORK/heard" || fail "watch: $(cat "$WORK/heard")"
for command in snapshot "leaks --daemon" "attach --daemon"; do
	# shellcheck disable=SC2086	# an option
	as_user timeout 60 "$own_copy" $command -p "$HELD" --control="$control" >"$REPORT" \
		2>"$ERRORS" </dev/null
	expect $? 3 "$command: $(cat "$ERRORS")"
	[ ! -s "$REPORT" ] || fail "$command: $(cat "$REPORT")"
done
as_user curl -sS --unix-socket "$WORK/http" http://localhost/targets >"$WORK/targets" ||
	fail "HTTP: $(cat "$log")"
expect "$(jq -c .processes "$WORK/targets")" "[]" "what he is told of over HTTP"
expect "$(as_user curl -sS -o "$WORK/page" -w '%{http_code}' --unix-socket "$WORK/http" \
	"http://localhost/targets/$HELD/report")" 404 "the report"
for keeper in $keepers; do kill -CONT "$keeper"; done
# What ends now is the other user's session.
await 60 grep -q "$HELD.*ended" "$log" || fail "its end is not noticed: $(cat "$log")"
end
[ "$(jq -s "[.[] | .. | .pid? // empty | select(. == $HELD)] | length" "$WORK/heard")" = 0 ] ||
	fail "watch: $(cat "$WORK/heard")"
