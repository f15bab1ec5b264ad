#!/bin/sh
# SPDX-License-Identifier: MIT
# However a live screen ends, the terminal is as it was, and the target too: keys, signals, the
# target's end, and each of the processes killed.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"

# begin: a victim with a screen on it
begin() {
	note "$1"
	victim truth truth_c
	pristine_take "$VICTIM"
	screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.1
	attach_await "$VICTIM"
	shown 'rate .*allocs in all'
	expect "$(tmux_do display-message -p '#{alternate_on}')" 1 "alternate screen"
	screen_children || fail "screen, keeper and analyst are not there"
}

# sandboxed: the screen's process can't do much
sandboxed() {
	for line in 'Seccomp:	2' 'NoNewPrivs:	1' 'CapEff:	0000000000000000' \
		'CapPrm:	0000000000000000'; do
		grep -qxF "$line" "/proc/$SCREEN/status" || fail "the screen: no $line"
	done
}

# end STATUS PATTERN: what is on the terminal afterwards
end() {
	screen_end
	expect "$STATUS" "$1" "exit status"
	grep -q "$2" "$WORK/after" || fail "not on the terminal: $2 in $(cat "$WORK/after")"
	for pid in $SCREEN $KEEPER $ANALYST; do
		await 10 is_gone "$pid" || fail "process $pid is left"
	done
	tmux_do kill-server
}

victim_is_well() {
	pristine_check "$VICTIM"
	truth truth	# still allocates
	ended truth
}

begin "q"
sandboxed
keys q
end 0 'watched process'
victim_is_well

begin "Ctrl-C"
keys C-c
end 0 'watched process'
victim_is_well

for signal in TERM HUP INT; do
	begin "SIG$signal"
	kill -"$signal" "$ATTACH"
	end 0 'watched process'
	victim_is_well
done

begin "SIGTERM to the screen alone"
kill -TERM "$SCREEN"
end 0 'watched process'
victim_is_well

begin "the target ends"
ended truth
end 4 'watched process'
grep -q "process $VICTIM has ended" "$WORK/after" || fail "not said: $(cat "$WORK/after")"

# without another screen to go back to: the report begins on a line of its own
SCREEN_TERM=vt100
note "vt100"
victim truth truth_c
pristine_take "$VICTIM"
screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.1
attach_await "$VICTIM"
shown 'q detach'
screen_children || fail "screen, keeper and analyst are not there"
keys q
end 0 "watched process $VICTIM: [^ ]*truth_c$"
victim_is_well
SCREEN_TERM=""

note "the target begins another program"
background sh sh -c 'echo ready; read line; exec sleep 2'
VICTIM=$LAST
await 20 grep -q '^ready' "$WORK/sh.out" || fail "no shell"
screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.1
attach_await "$VICTIM"
shown 'rate .*allocs in all'
screen_children || fail "screen, keeper and analyst are not there"
echo >"$WORK/sh.in"
end 4 "process $VICTIM became .*sleep by exec"
await 20 is_gone "$VICTIM" || fail "what it became does not end"

begin "the analyst is killed"
kill -KILL "$ANALYST"
end 6 'the analyst ended unexpectedly'
victim_is_well

begin "the analyst crashes"
kill -SEGV "$ANALYST"
end 6 'the analyst ended unexpectedly'
victim_is_well

begin "the screen is killed"
kill -KILL "$SCREEN"
end 0 'watched process'
victim_is_well

begin "the keeper is killed"
kill -KILL "$KEEPER"
end 5 'the keeper was killed by signal 9'
attach cleanup -p "$VICTIM"
expect "$STATUS" 0 "cleanup"
victim_is_well

# whoever is left puts the terminal right; the shell does not wait for it
begin "the front is killed"
tty=$(tmux_do display-message -p '#{pane_tty}')
kill -KILL "$ATTACH"
modes_are_back() { stty -a <"$tty" | cmp -s - "$WORK/modes.before"; }
await 10 is_gone "$SCREEN" || fail "the screen stays"
await 10 modes_are_back || fail "modes: $(stty -a <"$tty" | diff - "$WORK/modes.before")"
expect "$(tmux_do display-message -p '#{alternate_on}')" 0 "alternate screen"
for pid in $KEEPER $ANALYST; do
	await 20 is_gone "$pid" || fail "process $pid is left"
done
victim_is_well
