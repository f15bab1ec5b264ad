#!/bin/sh
# SPDX-License-Identifier: MIT
# A terminal that is stopped, or not read, stops the screen's process and nobody else: the target
# runs on, every event is read through a small ring, and it can be left, and is, before
# anybody reads the terminal again.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"
needs python3

ROUNDS=20000

# In milliseconds, how long the victim takes for its work: sets TOOK.
work() {
	begun=$(date +%s%3N)
	truth truth
	TOOK=$(($(date +%s%3N) - begun))
}

# recorded FILE: what was seen is all of the truth.
recorded() {
	"$MEMATTACH" report "$1" --json >"$REPORT" || fail "no report of $1"
	json_expect '.session.lost.alloc + .session.lost.free' 0
	truth_holds truth truth_threads
}

# Twice in half a second the same system call: write to the terminal.
stands_in_write() {
	read -r call fd _ <"/proc/$SCREEN/syscall" || return 1
	[ "$call $fd" = "1 0x1" ] || return 1
	sleep 0.5
	read -r call fd _ <"/proc/$SCREEN/syscall"
	[ "$call $fd" = "1 0x1" ]
}

# Its memory is its own again a moment before the thread that gave it back is let go.
untraced() { ! grep -q '^TracerPid:.*[1-9]' "/proc/$VICTIM"/task/*/status; }

# without a screen
victim truth truth_threads --rounds=$ROUNDS
attach_begin -p "$VICTIM" $EXACT --ring-size=1M --interval=0.01 --json \
	-o "$WORK/plain.rec"
attach_await "$VICTIM"
work
plain=$TOOK
attach_end INT
expect "$STATUS" 0 "exit status without a screen"
recorded "$WORK/plain.rec"
ended truth

# The work would not end if it had to wait for the screen: that is stuck until the test lets it go.
for way in stop:INT unread:TERM; do
	how=${way%:*} signal=${way#*:}
	rm -rf "$WORK/pty"
	mkdir "$WORK/pty"
	victim truth truth_threads --rounds=$ROUNDS
	pristine_take "$VICTIM"
	background terminal env TERM=xterm python3 "$E2E/blocked_terminal.py" "$how" "$WORK/pty" \
		"$MEMATTACH" -p "$VICTIM" $EXACT --ring-size=1M --interval=0.01 \
		-o "$WORK/$how.rec"
	await 20 test -s "$WORK/pty/pid" || fail "no terminal: $(cat "$WORK/terminal.err")"
	ATTACH=$(cat "$WORK/pty/pid")
	own "$ATTACH"
	attach_await "$VICTIM"
	await 20 screen_children || fail "no screen"
	touch "$WORK/pty/block"
	await 60 stands_in_write || fail "the screen is not stuck: $(cat "/proc/$SCREEN/syscall")"
	# long enough for what is sent to it to fill any buffer on the way: 6 KiB a hundredth second
	for _ in 1 2 3 4; do
		stands_in_write || fail "the screen is not stuck any more"
	done
	work
	note "$how: the work took $TOOK ms, $plain without a screen"
	stands_in_write || fail "the screen was not stuck all the time"
	# leave while it is stuck: the target is as it was before anybody reads on
	kill -"$signal" "$ATTACH"
	await 30 "$TOOLS/ringwatch" "$VICTIM" gone 1000 || fail "$how: the target is not left"
	await 10 untraced || fail "$how: a thread is still held"
	pristine_check "$VICTIM"
	touch "$WORK/pty/unblock"
	await 30 test -s "$WORK/pty/status" || fail "memattach does not end"
	expect "$(cat "$WORK/pty/status")" 0 "exit status"
	grep -qa 'watched process' "$WORK/pty/output" || fail "no report"
	recorded "$WORK/$how.rec"
	ended truth
done
