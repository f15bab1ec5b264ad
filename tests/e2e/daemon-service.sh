#!/bin/sh
# SPDX-License-Identifier: MIT
# What memattachd tells the service manager, by its protocol; and that the command of on-event is
# run for what happens to each process, without more rights than its user has.
. "$(dirname "$0")/lib.sh"
needs python3
. "$E2E/daemon_lib.sh"
"$daemon" --version | grep -q libsystemd || skip "memattachd was built without libsystemd"
words=$WORK/manager.out

# told COUNT WORDS: so many messages of them at the least.
told() { [ "$(grep -c "$2" "$words")" -ge "$1" ]; }

# happened EVENT PID: the command was run for it.
happened() { grep -q "^$1 $2 leaky leaky /" "$WORK/events"; }

background manager python3 -u "$E2E/notify_listener.py" "$WORK/notify"
await 20 told 1 '^listening' || fail "$(cat "$WORK/manager.err")"
cat >"$WORK/on_event" <<END
#!/bin/sh
echo "\$MEMATTACH_EVENT \$MEMATTACH_TARGET_PID \$MEMATTACH_TARGET_NAME \$MEMATTACH_RULE" \\
	"\${MEMATTACH_RECORDING:-none} \$MEMATTACH_TEXT; \$(grep CapAmb /proc/self/status)" \\
	"\${NOTIFY_SOCKET:-mute}" >>"$WORK/events"
END
chmod +x "$WORK/on_event"

# --- ready, its state, the watchdog -------------------------------------------------------------

victim one leaky
ONE=$VICTIM
pristine_take "$ONE"
rules "[daemon]
on-event = $WORK/on_event
[watch leaky]
exe = $VICTIMS/leaky"
begin NOTIFY_SOCKET="$WORK/notify" WATCHDOG_USEC=500000
armed "$ONE"
await 20 told 1 '^READY=1|STATUS=' || fail "not ready: $(cat "$words")"
await 20 told 1 '^STATUS=1 process watched, 0 waiting, 0 refused' || fail "$(cat "$words")"
await 20 told 4 '^WATCHDOG=1$' || fail "the watchdog hears nothing: $(cat "$words")"
await 20 happened watched "$ONE" || fail "no command for $ONE: $(cat "$WORK/events" "$log")"

# --- who is refused -----------------------------------------------------------------------------

victim two processes --kind=stopped
rules "[daemon]
on-event = $WORK/on_event
[watch leaky]
exe = $VICTIMS/leaky
exe = $VICTIMS/processes
exclude-pid-file = $WORK/supervisor"
echo "$VICTIM_SELF" >"$WORK/supervisor"
kill -HUP "$DAEMON"
await 20 told 1 '^RELOADING=1|MONOTONIC_USEC=[0-9]' || fail "$(cat "$words")"
await 20 told 2 '^READY=1' || fail "not ready again: $(cat "$words")"
await 20 grep -q "^refused $VICTIM processes leaky none refused, nothing touched: .*stopped" \
	"$WORK/events" || fail "nothing of the refusal: $(cat "$WORK/events" "$log")"
await 20 told 1 '^STATUS=1 process watched, 0 waiting, 1 refused' || fail "$(cat "$words")"

# --- the end ------------------------------------------------------------------------------------

end
await 10 told 1 '^STOPPING=1|STATUS=leaving 1 process$' || fail "$(cat "$words")"
happened left "$ONE" || fail "it did not wait for the command: $(cat "$WORK/events")"
pristine_check "$ONE"
! grep -v 'CapAmb:.0000000000000000 mute$' "$WORK/events" || fail "the command may do too much"
! grep 'on-event' "$log" || fail "the command failed"

# --- started by a question, as memattachd.socket does it ----------------------------------------

if command -v systemd-socket-activate >/dev/null; then
	begin systemd-socket-activate --fdname=control -l "$control"
	await 20 [ -S "$control" ] || fail "nobody listens: $(cat "$log")"
	[ "$(cat "/proc/$DAEMON/comm")" != memattachd ] || fail "it did not wait for a question"
	"$MEMATTACH" status --json --control="$control" >"$WORK/status" 2>&1 ||
		fail "the question that started it has no answer: $(cat "$WORK/status" "$log")"
	expect "$(cat "/proc/$DAEMON/comm")" memattachd "who answers"
	"$MEMATTACH" status --control="$control" >"$WORK/status" 2>&1 ||
		fail "asked again: $(cat "$WORK/status" "$log")"
	armed "$ONE"
	end
	[ -S "$control" ] || fail "the manager's socket is gone"
	rm "$control"
	begin systemd-socket-activate --datagram --fdname=control -l "$control"
	await 20 [ -S "$control" ] || fail "nobody listens: $(cat "$log")"
	python3 -c "import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', sys.argv[1])" "$control"
	await 20 grep -q "can't be asked there: Invalid argument" "$log" || fail "$(cat "$log")"
	armed "$ONE"
	end
	rm -f "$control"
	pristine_check "$ONE"
fi

# --- the journal --------------------------------------------------------------------------------
# Its native protocol, at a socket of our own, where mounts can be our own.

if ! is_root || ! may_mount; then
	note "no mount namespaces: the journal's protocol was not tried"
	exit 0
fi
cat >"$WORK/with_journal" <<END
mount -t tmpfs none /run && mkdir -p /run/systemd/journal || exit 99
JOURNAL_STREAM=\$(stat -L -c %d:%i /proc/self/fd/2)
export JOURNAL_STREAM
python3 -u "$E2E/notify_listener.py" /run/systemd/journal/socket >"$WORK/journal.out" &
echo \$! >"$WORK/listener"
until grep -q '^listening' "$WORK/journal.out"; do sleep 0.02; done
exec "\$@"
END
# message KIND: of ONE, by its fields.
message() {
	grep "|MEMATTACH_EVENT=$1|" "$WORK/journal.out" |
		grep "|MEMATTACH_TARGET_PID=$ONE|" | grep '|MEMATTACH_RULE=leaky|' |
		grep '|MEMATTACH_TARGET_NAME=leaky|' |
		grep "|MEMATTACH_RECORDING=$state/leaky/leaky-$ONE-" | grep '|PRIORITY=5|' |
		grep "^MESSAGE=$ONE leaky: "
}
rules "[watch leaky]
exe = $VICTIMS/leaky"
begin unshare -m sh "$WORK/with_journal"
await 20 grep -q '^listening' "$WORK/journal.out" || fail "nobody listens: $(cat "$log")"
own "$(cat "$WORK/listener")"
armed "$ONE"
await 20 message watched || fail "no message: $(cat "$WORK/journal.out" "$log")"
message watched | grep -q '|MESSAGE_ID=ea11822a75164004a6ffe0ac719da754|' || fail "its MESSAGE_ID"
end
await 20 message left || fail "no message of its end: $(cat "$WORK/journal.out")"
message left | grep -q '|MESSAGE_ID=36456cf7948c45bb9ec4dacf859eeb84|' || fail "its MESSAGE_ID"
! grep "$ONE leaky: " "$log" || fail "said twice"
pristine_check "$ONE"
