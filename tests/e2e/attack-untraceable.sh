#!/bin/sh
# SPDX-License-Identifier: MIT
# The attacker is a user who asks memattachd, who may trace everybody, for what the kernel forbids
# himself: processes of his that are not dumpable, of another group (setgid), or with capabilities,
# and one that becomes so while it is watched. He gets no code into them and learns nothing of them.
. "$(dirname "$0")/lib.sh"
needs jq setpriv curl
is_root || skip "only root can be another user"
may_trace_others || skip "no CAP_SYS_PTRACE"
. "$E2E/daemon_lib.sh"
USER=61005
GROUP=61006
chmod 1777 "$WORK"
own_copy=$WORK/memattach-user
cp "$MEMATTACH" "$own_copy" || fail "no copy"
as_user() { setpriv --reuid=$USER --regid=$GROUP --clear-groups "$@"; }
# asked COMMAND PID: sets STATUS; its words are in $ERRORS.
# shellcheck disable=SC2086	# a command with an option
asked() {
	as_user "$own_copy" $1 -p "$2" --control="$control" >"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
}
# process NAME COMMAND...: of that user's; sets TARGET.
process() {
	process_name=$1
	shift
	mkfifo "$WORK/$process_name.in"
	setpriv --reuid=$USER --regid=$GROUP --clear-groups "$@" \
		<>"$WORK/$process_name.in" >"$WORK/$process_name.out" 2>&1 &
	TARGET=$!
	own "$TARGET"
	await 30 grep -q '^ready' "$WORK/$process_name.out" || fail "$process_name: $(
		cat "$WORK/$process_name.out")"
}
cp "$BUILDDIR/tests/victims/ticking" "$WORK/plain" || fail "no copy"
cp "$WORK/plain" "$WORK/setgid" && chgrp 61007 "$WORK/setgid" && chmod 2755 "$WORK/setgid"
cat >"$WORK/undumpable.c" <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
int main(int argc, char **argv)
{
	char line[8];
	if (argc > 1)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (puts("ready"), fflush(stdout); fgets(line, sizeof(line), stdin);) {
		free(malloc(10));
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		puts("changed");
		fflush(stdout);
	}
}
SOURCE
$CC -O1 -w -o "$WORK/undumpable" "$WORK/undumpable.c" || fail "no program"

rules "[http]
listen = unix:$WORK/http"
begin
await 30 [ -S "$control" ] || fail "$(cat "$log")"

process plain "$WORK/plain"
PLAIN=$TARGET
# He follows all that happens, from here to the end.
as_user "$own_copy" watch --json --control="$control" >"$WORK/heard" 2>/dev/null &
own $!
await 30 grep -q '"processes"' "$WORK/heard" || fail "watch: $(cat "$WORK/heard")"
asked "attach --daemon" "$PLAIN"
expect "$STATUS" 0 "attach to his own: $(cat "$ERRORS")"

for kind in setgid undumpable capable; do
	case $kind in
	capable) process $kind --inh-caps=+net_raw --ambient-caps=+net_raw "$WORK/plain" ;;
	undumpable) process $kind "$WORK/undumpable" now ;;
	setgid) process $kind "$WORK/setgid" ;;
	esac
	for command in "attach --daemon" snapshot detach; do
		asked "$command" "$TARGET"
		expect "$STATUS" 3 "$command, $kind: $(cat "$ERRORS")"
		grep -q 'not yours alone' "$ERRORS" || fail "$command, $kind: $(cat "$ERRORS")"
	done
	"$TOOLS/ringwatch" "$TARGET" gone 0 >"$WORK/ringwatch" || fail "$kind: it was entered"
	# Watched for root, it is nothing that he is told of.
	"$MEMATTACH" attach --daemon -p "$TARGET" --control="$control" >"$REPORT" 2>"$ERRORS" ||
		fail "attach by root, $kind: $(cat "$ERRORS" "$log")"
	for command in "attach --daemon" snapshot detach; do
		forbidden="${forbidden:-} $TARGET"
		asked "$command" "$TARGET"
		expect "$STATUS" 3 "$command, $kind, watched: $(cat "$ERRORS")"
	done
	as_user "$own_copy" status --json --control="$control" >"$WORK/status" || fail "status"
	expect "$(jq -c '[.processes[].pid]' "$WORK/status")" "[$PLAIN]" "what he is told of"
	as_user "$own_copy" ps --json --control="$control" >"$WORK/ps" || fail "ps"
	expect "$(jq -c "[.processes[] | select(.pid == $TARGET)]" "$WORK/ps")" "[]" \
		"what ps lists, $kind"
	expect "$(jq -c "[.processes[] | select(.pid == $PLAIN) | .state]" "$WORK/ps")" \
		'["watched"]' "his own in ps, $kind"
	as_user curl -sS --unix-socket "$WORK/http" http://localhost/targets >"$WORK/targets" ||
		fail "HTTP: $(cat "$log")"
	expect "$(jq -c '[.processes[].pid]' "$WORK/targets")" "[$PLAIN]" "and over HTTP"
	expect "$(as_user curl -sS -o "$WORK/page" -w '%{http_code}' --unix-socket "$WORK/http" \
		"http://localhost/targets/$TARGET/report")" 404 "its report, $kind"
done

# It becomes another while he has it watched: it is left, and he gets nothing more.
process changes "$WORK/undumpable"
asked "attach --daemon" "$TARGET"
expect "$STATUS" 0 "attach to what will change: $(cat "$ERRORS")"
asked snapshot "$TARGET"
expect "$STATUS" 0 "snapshot of what will change: $(cat "$ERRORS")"
echo >"$WORK/changes.in"
await 30 grep -q '^changed' "$WORK/changes.out" || fail "it does not change"
asked snapshot "$TARGET"
expect "$STATUS" 3 "snapshot of what has changed"
await 60 grep -q "$TARGET.*may not trace it any more" "$log" || fail "not left: $(cat "$log")"
await 60 "$TOOLS/ringwatch" "$TARGET" gone 0 || fail "not left: $(cat "$log")"
# Of his own he has heard, of the others not.
heard() { jq -es --argjson pid "$1" 'any(.. | .pid? // empty; . == $pid)' "$WORK/heard"; }
await 30 heard "$PLAIN" || fail "he hears nothing: $(cat "$WORK/heard")"
for pid in $forbidden; do
	! heard "$pid" || fail "he hears of $pid: $(cat "$WORK/heard")"
done
end
